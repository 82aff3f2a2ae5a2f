/**
 * Encodes messages of a WebSocket as a server sends them (RFC 6455, section 5). Pure.
 *
 * Each message is one text frame. The messages of one read of a provider are one buffer, which is one write. A server's frames are not masked,
 * so subscribers of the same events may get the same buffer (`Encoding`).
 */
import { SocketMessages } from "@holdfast/wire/rpc"
import type { Frame } from "../../conversation/Conversations.ts"
import * as Encoding from "../body/Encoding.ts"

/** A ping without data. */
export const PING = Buffer.of(0x89, 0)

/** Messages as one buffer of text frames. */
export const ofMessages = (messages: ReadonlyArray<string>): Buffer => {
  let total = 0
  const lengths = messages.map((message) => {
    const length = Buffer.byteLength(message)
    total += headOf(length) + length
    return length
  })
  const buffer = Buffer.allocUnsafe(total)
  let at = 0
  messages.forEach((message, i) => {
    const length = lengths[i] ?? 0
    at = writeHead(buffer, at, length)
    // A text with one byte a character needs no encoder.
    at += buffer.write(message, at, length === message.length ? "latin1" : "utf8")
  })
  return buffer
}

/** Events as one buffer. `messageOf` makes the message of an event; each kind of message has one encoder. */
export const encoder = (messageOf: (frame: Frame) => string): ((frames: ReadonlyArray<Frame>) => Buffer) =>
  Encoding.sharing((frames) => ofMessages(frames.map(messageOf)))

/** Events with all their keys, and the id of a persisted one. */
export const full = encoder(({ id, json }) => SocketMessages.eventMessage(json, id))

/** The same, with bare deltas: the id of the subscription stands in place of those of conversation and turn (rule D12). */
export const bare = (id: SocketMessages.BareDelta["id"]): ((frames: ReadonlyArray<Frame>) => Buffer) =>
  encoder((frame) => {
    const { event } = frame
    if (event.type !== "text-delta" && event.type !== "reasoning-delta") {
      return SocketMessages.eventMessage(frame.json, frame.id)
    }
    const message: SocketMessages.BareDelta = { id, type: event.type, delta: event.delta }
    return JSON.stringify(message)
  })

// --- internal

const SHORT = 126
const MEDIUM = 0x10000

const headOf = (length: number): number => (length < SHORT ? 2 : length < MEDIUM ? 4 : 10)

/** Writes the head of a final text frame; returns where its text begins. */
const writeHead = (buffer: Buffer, at: number, length: number): number => {
  buffer[at] = 0x81
  if (length < SHORT) buffer[at + 1] = length
  else if (length < MEDIUM) {
    buffer[at + 1] = SHORT
    buffer.writeUInt16BE(length, at + 2)
  } else {
    buffer[at + 1] = SHORT + 1
    buffer.writeUInt32BE(0, at + 2)
    buffer.writeUInt32BE(length, at + 6)
  }
  return at + headOf(length)
}
