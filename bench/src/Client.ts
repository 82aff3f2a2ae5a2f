/** A client that streams turns and counts deltas, without taking events apart. */
import { Agent, request } from "node:http"

/** How a provider answers (`FakeProvider.ts`). */
export interface Manner {
  readonly deltas: number
  readonly chunk: number
  readonly every: number
}

export const segment = (manner: Manner): string => new URLSearchParams(Object.entries(manner).map(text)).toString()

/** A server under test. */
export interface Server {
  readonly port: number
  /** Prepares one turn: what to post where. */
  readonly prepare: (manner: Manner) => Promise<Prepared>
}

export interface Prepared {
  readonly path: string
  readonly body: object
}

export const plain = (port: number): Server => ({
  port,
  prepare: async (manner) => ({ path: "/", body: { prompt: "Go", manner: segment(manner) } })
})

/** The service, with the providers of `providersFor`. A turn has a conversation of its own. */
export const holdfast = (port: number): Server => ({
  port,
  prepare: async (manner) => {
    const answer = await post(port, { path: "/v1/conversations", body: { model: modelOf(manner) } }, () => {})
    return { path: `/v1/conversations/${JSON.parse(answer).conversationId}/turns`, body: { prompt: "Go" } }
  }
})

/** The model that is answered in this manner, in a configuration with `providersFor`. */
export const modelOf = (manner: Manner): string => `${nameOf(manner)}/m`

/** Providers for the service's configuration, one a manner, all of them at one port. */
export const providersFor = (port: number, manners: ReadonlyArray<Manner>): Readonly<Record<string, object>> =>
  Object.fromEntries(
    manners.map((manner) => [
      nameOf(manner),
      { type: "openai-compatible", baseUrl: `http://127.0.0.1:${port}/${segment(manner)}/v1` }
    ])
  )

export interface Streamed {
  readonly deltas: number
  readonly firstMs: number
}

/** Posts a prompt, and reads the answer to its end. */
export const stream = async (
  { port }: Server,
  prepared: Prepared,
  /** Gets the lines of each read, too. */
  onDeltas: (count: number, lines: Buffer) => void = () => {}
): Promise<Streamed> => {
  const start = performance.now()
  let firstMs = NaN
  let deltas = 0
  let rest: Buffer = Buffer.alloc(0)
  await post(port, prepared, (read) => {
    const chunk = rest.length === 0 ? read : Buffer.concat([rest, read])
    const end = chunk.lastIndexOf(10) + 1
    const count = deltasIn(chunk, end)
    // What is left may be the beginning of a line.
    rest = chunk.subarray(end)
    if (count === 0) return
    if (deltas === 0) firstMs = performance.now() - start
    deltas += count
    onDeltas(count, chunk.subarray(0, end))
  })
  return { deltas, firstMs }
}

// --- internal

const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

const text = ([name, value]: readonly [string, number]): [string, string] => [name, String(value)]

const nameOf = ({ chunk, deltas, every }: Manner): string => `d${deltas}c${chunk}e${every}`

const NEEDLE = Buffer.from('"type":"text-delta"')
const WORD = Buffer.from("word")

/** Each delta of the provider has one word. A server may join several of them in one event. */
const deltasIn = (chunk: Buffer, end: number): number => {
  let count = 0
  for (let event = chunk.indexOf(NEEDLE); event >= 0 && event < end; event = chunk.indexOf(NEEDLE, event)) {
    const line = chunk.indexOf(10, event)
    for (let at = chunk.indexOf(WORD, event); at >= 0 && at < line; at = chunk.indexOf(WORD, at + WORD.length)) count++
    event = line
  }
  return count
}

const post = (port: number, { body, path }: Prepared, onRead: (read: Buffer) => void): Promise<string> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
      accept: path === "/v1/conversations" ? "application/json" : "application/x-ndjson"
    }
    const outgoing = request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
      const small: Array<Buffer> = []
      response.on("data", (read: Buffer) => {
        if (headers.accept === "application/json") small.push(read)
        onRead(read)
      })
      response.on("end", () => resolve(Buffer.concat(small).toString()))
      response.on("error", reject)
    })
    outgoing.on("error", reject)
    outgoing.end(text)
  })
