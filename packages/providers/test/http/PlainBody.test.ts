import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as PlainBody from "../../src/http/PlainBody.ts"
import { type HttpResponse, Broken, type BytePull } from "../../src/http/Http.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

/** A body of these pieces, followed by `after`. */
const pulling = (pieces: ReadonlyArray<string | Uint8Array>, after: BytePull = Cause.done()): BytePull => {
  const left = [...pieces]
  return Effect.suspend(() => {
    const piece = left.shift()
    if (piece === undefined) return after
    return Effect.succeed([typeof piece === "string" ? bytes(piece) : piece] as const)
  })
}

const answer = (bytes: BytePull, isWhole = true): HttpResponse => ({
  status: 500,
  headers: {},
  bytes,
  isWhole: () => isWhole
})

const kindOf = (...reads: ReadonlyArray<string>) => PlainBody.kindOf(reads.map(bytes))

describe("the first bytes of a response", () => {
  it("rule C3: distinguish a page, a JSON document and a stream, after any blanks and a byte order mark", () => {
    for (const blank of ["", " ", "\t", "\n", "\r", "\r\n \t", "\uFEFF", "\uFEFF\n"]) {
      expect(kindOf(blank), JSON.stringify(blank)).toBe("blank")
      for (const [text, kind] of [
        ["<html>", "page"],
        ['{"a":1}', "json"],
        ["[1]", "json"],
        ["data: {}", "stream"],
        [": <", "stream"],
        ["0", "stream"]
      ] as const) {
        expect(kindOf(blank + text)).toBe(kind)
        expect(kindOf(blank, text)).toBe(kind)
      }
    }
    expect(kindOf()).toBe("blank")
  })
})

describe("a document", () => {
  it.effect("rule C11: is read up to its limit, and not beyond it", () =>
    Effect.gen(function* () {
      const read = (begun: string, ...pieces: ReadonlyArray<string>) =>
        PlainBody.document(pulling(pieces), [bytes(begun)], 10, () => {})
      expect(yield* read("01234", "56789")).toBe("0123456789")
      expect(yield* read("01234", "567890")).toBeUndefined()
      expect(yield* read("01234567890")).toBeUndefined()
      const endless = PlainBody.document(
        Effect.sync(() => [bytes("x")] as const),
        [],
        1_000,
        () => {}
      )
      expect(yield* endless).toBeUndefined()
    })
  )

  it.effect("a character split by a read is whole, and one split by the end is marked as damaged", () =>
    Effect.gen(function* () {
      const cut = bytes("aü🙂b")
      const single = Array.from(cut, (_, i) => cut.subarray(i, i + 1))
      expect(yield* PlainBody.document(pulling(single), [], 10, () => {})).toBe("aü🙂b")
      expect(yield* PlainBody.document(pulling(single.slice(0, -2)), [], 10, () => {})).toBe("aü\uFFFD")
    })
  )

  it.effect("rule C8: each piece with more than blanks is progress, including the first one", () =>
    Effect.gen(function* () {
      let calls = 0
      yield* PlainBody.document(pulling([" ", '"a"', "\n", ":1}"]), [bytes("{")], 100, () => calls++)
      expect(calls).toBe(3)
    })
  )

  it.effect("rule C6: a connection that breaks fails it", () =>
    Effect.gen(function* () {
      const broken = new Broken({ cause: "cut" })
      const exit = yield* Effect.exit(PlainBody.document(pulling(["{"], Effect.fail(broken)), [], 10, () => {}))
      expect(exit).toEqual(Exit.fail(broken))
    })
  )
})

describe("an error's text", () => {
  it.effect("is the first bytes and the rest, even if the connection breaks", () =>
    Effect.gen(function* () {
      expect(yield* PlainBody.text(answer(pulling(["b", "c"])), [bytes("a")])).toBe("abc")
      expect(yield* PlainBody.text(answer(pulling(["b"], Effect.fail(new Broken({ cause: "cut" })))), [])).toBe("b")
    })
  )

  it.effect("is 64 KiB at most, and no more than that is read", () =>
    Effect.gen(function* () {
      const read = Effect.fnUntraced(function* (...lengths: ReadonlyArray<number>) {
        let ended = 0
        const end: BytePull = Effect.suspend(() => {
          ended++
          return Cause.done()
        })
        const [first = 0, ...rest] = lengths
        const pieces = pulling(
          rest.map((length) => "x".repeat(length)),
          end
        )
        const text = yield* PlainBody.text(answer(pieces), [bytes("x".repeat(first))])
        return { length: text.length, isReadToItsEnd: ended > 0 }
      })
      expect(yield* read(0, 65_534, 1)).toEqual({ length: 65_535, isReadToItsEnd: true })
      expect(yield* read(0, 65_535, 1)).toEqual({ length: 65_536, isReadToItsEnd: false })
      expect(yield* read(65_000, 536)).toEqual({ length: 65_536, isReadToItsEnd: false })
      expect(yield* read(65_000, 537, 1)).toEqual({ length: 65_536, isReadToItsEnd: false })
    })
  )

  it.effect("is a copy: the reader of a socket may use its buffer again", () =>
    Effect.gen(function* () {
      const buffer = bytes("a")
      let reads = 0
      const reused = Effect.suspend(() => {
        if (++reads > 3) return Cause.done()
        buffer[0] = 0x60 + reads
        return Effect.succeed([buffer] as const)
      })
      expect(yield* PlainBody.text(answer(reused), [])).toBe("abc")
    })
  )

  it.effect("has a time limit of five seconds, unless it has arrived already", () =>
    Effect.gen(function* () {
      const late = pulling(["a"], Effect.never)
      const fiber = yield* Effect.forkChild(PlainBody.text(answer(late, false), []), { startImmediately: true })
      yield* TestClock.adjust(4999)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toBe("a")
    })
  )
})
