import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import * as Ndjson from "../../src/codec/Ndjson.ts"
import { TurnEvent } from "../../src/TurnEvent.ts"
import { cut, delta } from "./EventPieces.ts"

/** Decodes text that arrives in pieces of so many bytes. */
const decode = (text: string, pieceLength: number) =>
  Stream.fromIterable(cut(text, pieceLength)).pipe(Stream.pipeThroughChannel(Ndjson.decode()), Stream.runCollect)

it.effect.prop(
  "rule D12: any event decodes to itself, wherever its bytes are cut",
  { events: Schema.Array(TurnEvent), pieceLength: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 64 })) },
  ({ events, pieceLength }) =>
    Effect.gen(function* () {
      const text = events.map(Ndjson.encode).join("")
      expect([...(yield* decode(text, pieceLength))]).toEqual(JSON.parse(JSON.stringify(events)))
    })
)

it.prop("rule D12: an event is one line", { event: TurnEvent }, ({ event }) => {
  const line = Ndjson.encode(event)
  expect(line.indexOf("\n")).toBe(line.length - 1)
})

describe("keep-alive bytes", () => {
  it.effect("rule D12: precede the next object, so every line is an object", () =>
    Effect.gen(function* () {
      const { KEEP_ALIVE } = Ndjson
      const text = `${KEEP_ALIVE}${KEEP_ALIVE}${Ndjson.encode(delta("a"))}${KEEP_ALIVE}${Ndjson.encode(delta("b"))}`
      expect([...(yield* decode(text, 7))]).toEqual([delta("a"), delta("b")])
      for (const line of text.trimEnd().split("\n")) expect(JSON.parse(line).type).toBe("text-delta")
    })
  )
})

describe("a line that is no event", () => {
  const failure = (text: string) => Effect.map(Effect.flip(decode(text, 1000)), (error) => error._tag)

  it.effect("fails with its kind of error: no JSON, or JSON of another shape", () =>
    Effect.gen(function* () {
      expect(yield* failure("nonsense\n")).toBe("NdjsonError")
      expect(yield* failure('{"type":"text-delta"}\n')).toBe("SchemaError")
      expect(yield* failure('{"type":"from-the-future","conversationId":"c","turnId":"t"}\n')).toBe("SchemaError")
    })
  )

  it.effect("does not lose the events before it", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* Stream.make(
        new TextEncoder().encode(Ndjson.encode(delta("a"))),
        new TextEncoder().encode("nonsense\n")
      ).pipe(
        Stream.pipeThroughChannel(Ndjson.decode()),
        Stream.runForEach((event) => Effect.sync(() => seen.push(event.type))),
        Effect.ignore
      )
      expect(seen).toEqual(["text-delta"])
    })
  )
})
