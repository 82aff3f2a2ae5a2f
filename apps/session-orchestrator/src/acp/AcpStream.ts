/**
 * Reads and writes the messages of the protocol as lines, in the order of the client.
 *
 * The library begins all that it reads at once. So a request is read once the one before it is answered, or accepted, if it is a prompt.
 * A line that cannot be read (no JSON, too long, too deep, too many values) is answered with an error, and the next one is read.
 */
import { type AnyMessage, RequestError, type Stream } from "@agentclientprotocol/sdk"
import { JsonShape } from "@holdfast/wire"
import { LineSplitter } from "@holdfast/wire/rpc"

/** The most bytes of a line: prompts have files. */
const MOST_BYTES = 32 * 1024 * 1024

/** The messages of one client over two streams of bytes. */
export const make = (output: WritableStream<Uint8Array>, input: ReadableStream<Uint8Array>) => {
  const encoder = new TextEncoder()
  const writer = output.getWriter()
  let held: { readonly id: unknown; readonly release: () => void } | undefined
  /** The request has taken effect, though its answer is to come: the next one is read. */
  const accepted = (id: unknown): void => {
    // The answer to what is no request has no id.
    if (held !== undefined && (id === held.id || id === null)) held.release()
  }
  const write = async (message: AnyMessage): Promise<void> => {
    if (!("method" in message)) accepted(message.id)
    await writer.write(encoder.encode(`${JSON.stringify(message)}\n`))
  }

  async function* read(line: LineSplitter.SplitLine): AsyncGenerator<AnyMessage> {
    const message = messageOf(line)
    if (message === undefined) return
    if (message instanceof RequestError)
      return await write({ jsonrpc: "2.0", id: null, error: message.toErrorResponse() })
    if (!("method" in message)) return yield message
    if (!("id" in message)) {
      yield message
      // The library begins it before the event loop goes on.
      return await new Promise<void>((resolve) => void setImmediate(resolve))
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    held = { id: message.id, release: resolve }
    yield message
    await promise
  }
  async function* messages(): AsyncGenerator<AnyMessage> {
    const lines = new LineSplitter.LineSplitter(MOST_BYTES)
    for await (const bytes of input) for (const line of lines.push(bytes)) yield* read(line)
    for (const line of lines.end()) yield* read(line)
  }
  const stream: Stream = { readable: ReadableStream.from(messages()), writable: new WritableStream({ write }) }
  return { stream, accepted }
}

// --- internal

/** The message of a line, the error that answers it, or nothing for an empty line. */
const messageOf = (line: LineSplitter.SplitLine): AnyMessage | RequestError | undefined => {
  if (line._tag === "TooLong") return invalid(`The line is longer than ${MOST_BYTES} bytes, and was not read.`)
  if (line._tag === "NotUtf8") return new RequestError(PARSE, "The line is not UTF-8, and was not read.")
  if (line.text.trim() === "") return undefined
  const excess = JsonShape.excessOf(line.text)
  if (excess !== undefined) return invalid(`The line has ${excess}, and was not read.`)
  const message = JsonShape.parse(line.text)
  if (message === undefined) return new RequestError(PARSE, "The line is no JSON, and was not read.")
  return typeof message === "object" && message !== null && !Array.isArray(message)
    ? // The library checks the rest, and answers what is wrong.
      (message as unknown as AnyMessage)
    : invalid("The line is no JSON object. Expected one message a line.")
}

/** JSON-RPC: no JSON, and no request. */
const PARSE = -32700
const INVALID = -32600

const invalid = (message: string): RequestError => new RequestError(INVALID, message)
