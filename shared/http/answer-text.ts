import type { ServerResponse } from 'node:http'
import { endAnswer } from './end-answer.ts'

/** Sends an answer in plain text, with the headers that are set. */
export function answerText(res: ServerResponse, status: number, text: string): void {
  res.statusCode = status
  res.setHeader('Content-Type', 'text/plain; charset=utf-8')
  res.setHeader('Content-Length', Buffer.byteLength(text))
  endAnswer(res, text)
}

/** Sends an answer in JSON. @param type its media type */
export function answerJson(
  res: ServerResponse,
  status: number,
  json: string,
  type = 'application/json; charset=utf-8',
): void {
  res.statusCode = status
  res.setHeader('Content-Type', type)
  res.setHeader('Content-Length', Buffer.byteLength(json))
  res.end(json)
}
