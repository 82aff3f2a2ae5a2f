import { expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { JsonShape } from "@holdfast/wire"
import { MessageScan } from "../../../src/http/socket/SocketServer.ts"

const TEXT = 1
const BINARY = 2
const PING = 9

/** A client's frame, with a head of any of the three lengths. */
const frame = (opcode: number, isLast: boolean, payload: Buffer): Buffer => {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = (isLast ? 0x80 : 0) | opcode
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2)
  const mask = Buffer.of(0x7b, 0x22, 0x2c, 0x5d)
  return Buffer.concat([head, mask, payload.map((byte, n) => byte ^ (mask[n & 3] ?? 0))])
}

/** A message in frames of a size, each with a ping behind it. */
const framesOf = (opcode: number, text: string, size: number): Buffer => {
  const payload = Buffer.from(text)
  const frames: Array<Buffer> = []
  for (let at = 0; at < payload.length; at += size) {
    const isLast = at + size >= payload.length
    frames.push(
      frame(at === 0 ? opcode : 0, isLast, payload.subarray(at, at + size)),
      frame(PING, true, Buffer.from("{"))
    )
  }
  return Buffer.concat(frames)
}

const inPieces = (bytes: Buffer, size: number): string | undefined => {
  const scan = new MessageScan()
  for (let at = 0; at < bytes.length; at += size) {
    const excess = scan.push(bytes.subarray(at, at + size))
    if (excess !== undefined) return excess
  }
  return undefined
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const lawful = JSON.stringify([...Array.from({ length: 4_000 }, () => ({ a: "é," })), "x".repeat(70_000)])
const tooMany = `[${"{},".repeat(JsonShape.MOST_VALUES)}{}]`
const tooDeep = `${"[".repeat(JsonShape.MOST_LEVELS + 1)}${" ".repeat(100_000)}`

it.prop(
  "a message is measured by itself, however it is cut into frames and pieces",
  [between(1_000, 200_000), between(50, 10_000)],
  ([frameSize, pieceSize]) => {
    const excess = (...messages: ReadonlyArray<readonly [opcode: number, text: string]>) =>
      inPieces(Buffer.concat(messages.map(([opcode, text]) => framesOf(opcode, text, frameSize))), pieceSize)
    expect(excess([TEXT, lawful], [TEXT, lawful], [BINARY, tooMany], [TEXT, lawful])).toBeUndefined()
    expect(excess([TEXT, lawful], [TEXT, tooMany])).toBe("more than 10000 values")
    expect(excess([BINARY, tooMany], [TEXT, tooDeep])).toBe("more than 200 levels")
  },
  { arbitrary: { runs: 30 } }
)
