/**
 * Reads and writes MCP messages, one per line, in bounded pieces.
 *
 * It reads a server's output and writes its input.
 *
 * - A line is read up to `MAX_MESSAGE_BYTES`. A longer line ends the connection: its end may never come, and the part that was read takes
 *   memory.
 * - Lines that are no messages are ignored, within their budget (`Intake`): servers often have a left-over print statement.
 * - A server that does not read its input gets no answers to its own requests once `MAX_UNREAD` characters wait for it.
 */
import { JsonShape } from "@holdfast/wire"
import {
  type JSONRPCMessage,
  isJSONRPCRequest,
  parseJSONRPCMessage,
  type Transport
} from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { costOf, Intake, TOO_MUCH_JUNK, type MessageCheck } from "./Intake.ts"

/** The largest output (1 MiB) with every character escaped (6 for 1), and the message around it. */
export const MAX_MESSAGE_BYTES = 8 * 1_048_576

/** Some ten thousand answers. */
const MAX_UNREAD = 1_048_576

/** The transport over a pair of byte streams. */
export class LineTransport implements Transport {
  onclose?: () => void
  onmessage?: Transport["onmessage"]
  onerror?: (error: Error) => void
  /** The beginning of the incomplete line, and its bytes. */
  private pieces: Array<Uint8Array> = []
  private size = 0
  /** Characters that were written and not sent yet. */
  private unread = 0
  private readonly write: (line: string) => void
  private readonly intake: Intake

  /** `write` takes lines to send; `now` returns epoch milliseconds. */
  constructor(write: (line: string) => void, now: () => number) {
    this.write = write
    this.intake = new Intake(now)
  }

  start(): Promise<void> {
    return Promise.resolve()
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCRequest(message)) this.intake.requested(message.id)
    const line = `${JSON.stringify(message)}\n`
    this.unread += line.length
    this.write(line)
    return Promise.resolve()
  }

  close(): Promise<void> {
    this.onclose?.()
    return Promise.resolve()
  }

  /** Records that a line has left. */
  sent(line: string): void {
    this.unread -= line.length
  }

  /** Handles a chunk, over several turns of the event loop if necessary. Fails with the reason to end the connection. */
  read(chunk: Uint8Array): Effect.Effect<void, string> {
    const from = (start: number): Effect.Effect<void, string> =>
      Effect.suspend(() => {
        let next = start
        for (let end = chunk.indexOf(LINE_FEED, next); end !== -1; end = chunk.indexOf(LINE_FEED, next)) {
          if (!this.keep(chunk.subarray(next, end))) return Effect.fail(TOO_LONG)
          next = end + 1
          const { pieces, size } = this
          this.pieces = []
          this.size = 0
          if (this.receive(Buffer.concat(pieces).toString("utf8"), size) === "end") return Effect.fail(TOO_MUCH_JUNK)
          if (this.intake.isTurnOver(costOf(size))) return Effect.andThen(this.turn, from(next))
        }
        return this.keep(chunk.subarray(next)) ? Effect.void : Effect.fail(TOO_LONG)
      })
    return from(0)
  }

  private readonly turn: Effect.Effect<void> = Effect.suspend(() => {
    const ms = this.intake.nextTurn()
    return ms === 0 ? Effect.yieldNow : Effect.sleep(ms)
  })

  /** Keeps a piece of an incomplete line. Returns `false` if the line is too long. */
  private keep(piece: Uint8Array): boolean {
    this.size += piece.length
    if (this.size > MAX_MESSAGE_BYTES) return false
    if (piece.length > 0) this.pieces.push(piece)
    return true
  }

  private receive(line: string, bytes: number): MessageCheck {
    const value = objectOf(line)
    if (value === undefined) return this.intake.junk(bytes)
    const check = this.intake.check(value, bytes)
    if (check !== "pass") return check
    const message = messageOf(value)
    if (message === undefined) return this.intake.junk(bytes)
    if (isJSONRPCRequest(message) && this.unread > MAX_UNREAD) return "drop"
    this.onmessage?.(message)
    return check
  }
}

// --- internal

const LINE_FEED = 10

const TOO_LONG = `it sent a message of more than ${MAX_MESSAGE_BYTES / 1_048_576} MiB, and was stopped`

/** The fields that are checked to recognise a message. */
interface Parsed {
  readonly id?: string | number
  readonly method?: string
}

/** The object of a line, if it has the form of a message. Most other lines are recognised by their first character. */
const objectOf = (line: string): Parsed | undefined => {
  if (!OBJECT.test(line)) return undefined
  // It begins like an object.
  const value = JsonShape.parse(line) as { readonly [key: string]: unknown } | undefined
  if (value === undefined) return undefined
  const { id, jsonrpc, method } = value
  if (jsonrpc !== "2.0") return undefined
  const isNamed = method === undefined || typeof method === "string"
  const isNumbered = id === undefined || typeof id === "string" || typeof id === "number"
  return isNamed && isNumbered ? (value as Parsed) : undefined
}

const OBJECT = /^\s*\{/

const messageOf = (value: Parsed): JSONRPCMessage | undefined => {
  try {
    return parseJSONRPCMessage(value)
  } catch {
    return undefined
  }
}
