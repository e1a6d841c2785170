import { StartupError } from '../../../shared/errors/startup-error.ts'
import type { CliContext } from './cli-context.ts'
import { readAll } from './request.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const BACKSPACES = ['\u0008', '\u007f']

/** Thrown when Ctrl-C ends a question. */
export class InterruptedError extends Error {}

/**
 * Reads a secret from standard input: all of it, or from a terminal one line, which is not shown.
 *
 * @throws InterruptedError after Ctrl-C
 */
export async function readSecret(question: string, context: CliContext): Promise<string> {
  const { input, prompt } = context
  if (input.isTTY !== true || input.setRawMode === undefined) return readAll(input)
  prompt(question)
  input.setRawMode(true)
  try {
    return await readHiddenLine(input, context.signal)
  } finally {
    input.setRawMode(false)
    input.pause()
    prompt('\n')
  }
}

function readHiddenLine(input: CliContext['input'], signal: AbortSignal): Promise<string> {
  let line = ''
  return new Promise<string>((resolve, reject) => {
    const take = (chunk: Buffer | string) => {
      for (const character of chunk.toString()) {
        if (character === CTRL_C) reject(new InterruptedError('interrupted'))
        else if (['\r', '\n', CTRL_D].includes(character)) resolve(line)
        else line = BACKSPACES.includes(character) ? line.slice(0, -1) : line + character
      }
    }
    input.on('data', take)
    input.once('end', () => {
      reject(new StartupError('standard input ended before the key'))
    })
    signal.addEventListener('abort', () => {
      reject(new InterruptedError('interrupted'))
    })
  })
}
