import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Encoding from "effect/encoding"
import * as Sse from "../../src/codec/Sse.ts"
import { TurnEvent } from "../../src/TurnEvent.ts"
import { cut, delta } from "./EventPieces.ts"

/** Decodes text that arrives in pieces of so many bytes. */
const decode = (text: string, pieceLength = 1000) =>
  Stream.fromIterable(cut(text, pieceLength)).pipe(
    Stream.decodeText,
    Stream.pipeThroughChannel(Encoding.Sse.decode<never, unknown>()),
    Stream.filter(({ event }) => event !== "reconnect"),
    Stream.mapEffect(({ data, id }) =>
      Effect.map(decodeEvent(data), (event) => ({ event, id: id === undefined ? undefined : Number(id) }))
    ),
    Stream.runCollect
  )

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(TurnEvent))

const Positioned = Schema.Struct({
  event: TurnEvent,
  id: Schema.UndefinedOr(Schema.Int.check(Schema.isGreaterThan(0)))
})

it.effect.prop(
  "rule D12: any event decodes to itself with its position, wherever its bytes are cut",
  { frames: Schema.Array(Positioned), pieceLength: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })) },
  ({ frames, pieceLength }) =>
    Effect.gen(function* () {
      const text = frames.map(({ event, id }) => Sse.encode(event, id)).join("")
      const decoded = [...(yield* decode(text, pieceLength))]
      expect(decoded.map(({ event }) => event)).toEqual(frames.map(({ event }) => JSON.parse(JSON.stringify(event))))
      expect(decoded.map(({ id }) => id ?? "none")).toEqual(positions(frames))
    })
)

/** A frame without an id has the id of the frame before it, as with `EventSource`. */
const positions = (frames: ReadonlyArray<typeof Positioned.Type>): ReadonlyArray<number | string> => {
  let last: number | string = "none"
  return frames.map(({ id }) => (last = id ?? last))
}

it("rule D12: a frame's data is a line of NDJSON", () => {
  expect(Sse.encode(delta("a"))).toBe(`data: ${JSON.stringify(delta("a"))}\n\n`)
  expect(Sse.encode(delta("a"), 7)).toBe(`id: 7\ndata: ${JSON.stringify(delta("a"))}\n\n`)
})

describe("a stream that ends early", () => {
  it.effect("gives the reason in a frame that is no event", () =>
    Effect.gen(function* () {
      const last = Sse.reconnect({ code: "too-slow", message: "Connect again." })
      expect(last).toBe('event: reconnect\ndata: {"code":"too-slow","message":"Connect again."}\n\n')
      const decoded = yield* decode(Sse.encode(delta("a"), 1) + last)
      expect(decoded.map(({ event }) => event)).toEqual([delta("a")])
    })
  )
})

describe("keep-alive comments", () => {
  it.effect("are ignored by a client", () =>
    Effect.gen(function* () {
      const decoded = yield* decode(Sse.KEEP_ALIVE + Sse.encode(delta("a"), 1) + Sse.KEEP_ALIVE)
      expect(decoded.map(({ event }) => event)).toEqual([delta("a")])
    })
  )
})
