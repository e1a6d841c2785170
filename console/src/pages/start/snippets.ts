/** An event sent by a program for Node. It needs no package. @param key the expression of the key */
export const nodeOf = (
  origin: string,
  event: object,
  key: string,
): string => `const answer = await fetch('${origin}/v2/events', {
  method: 'POST',
  headers: { 'x-api-key': ${key}, 'Content-Type': 'application/json' },
  body: JSON.stringify(${JSON.stringify(event, undefined, 2).replaceAll('\n', '\n  ')}),
})
console.log(answer.status, await answer.text())`

/** An event sent by a program for Python. It needs no package. @param key the expression of the key */
export const pythonOf = (
  origin: string,
  event: object,
  key: string,
): string => `import json, os, urllib.request

event = ${JSON.stringify(event, undefined, 4)}
request = urllib.request.Request(
    "${origin}/v2/events",
    data=json.dumps(event).encode(),
    headers={"x-api-key": ${key}, "Content-Type": "application/json"},
)
print(urllib.request.urlopen(request).read().decode())`
