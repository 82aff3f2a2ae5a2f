/** Generated attempts of an endpoint: each kind of failure, and good answers, cut at random places. */
import * as fc from "fast-check"
import { cutAt } from "../harness/Decode.ts"
import { encode, head, type WireFormat } from "../harness/WireFormats.ts"
import type { Framing, AnswerHead } from "../../src/dialects/Dialect.ts"

/** One response of an endpoint. */
export interface Attempt {
  readonly name: string
  readonly head: AnswerHead
  readonly reads: ReadonlyArray<Uint8Array>
  /** The connection breaks instead of ending; `stall`: a limit on silence ends it. */
  readonly breaks?: "cut" | "stall"
}

/** A call: attempts that fail before content, then a good answer. */
export interface Script {
  readonly failures: ReadonlyArray<Attempt>
  readonly answer: Attempt
}

/** The fault scripts of a format and framing. */
export const scripts = (wire: WireFormat, framing: Framing): fc.Arbitrary<Script> =>
  fc.record({ failures: fc.array(failure(wire, framing), { maxLength: 4 }), answer: good(wire, framing) })

/** A good answer that breaks off at some byte. */
export const cutOff = (
  wire: WireFormat,
  framing: Framing
): fc.Arbitrary<{ readonly attempt: Attempt; readonly bytes: Uint8Array }> =>
  fc
    .tuple(
      frames(wire),
      lineEnd,
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      cuts,
      fc.constantFrom("cut", undefined)
    )
    .map(([frames, end, share, cuts, breaks]) => {
      const whole = body(wire, framing, frames, end)
      const bytes = whole.subarray(0, Math.floor(whole.length * share))
      const reads = cutAt(bytes, cuts)
      return { bytes, attempt: { name: "cut off", head: head(), reads, ...(breaks === undefined ? {} : { breaks }) } }
    })

// --- internal

const lineEnd = fc.constantFrom("\n", "\n", "\n", "\r\n", "\r")
const cuts = fc.array(fc.nat(), { maxLength: 12 })
const mark = fc.constantFrom("", "", "", "\uFEFF")

const some = (all: ReadonlyArray<string>, constraints: fc.ArrayConstraints = {}): fc.Arbitrary<ReadonlyArray<string>> =>
  fc.array(fc.constantFrom(...all), { maxLength: 6, ...constraints })

const frames = (wire: WireFormat): fc.Arbitrary<ReadonlyArray<string>> =>
  fc
    .tuple(some(wire.preamble), some(wire.content, { minLength: 1 }), some([...wire.preamble, ...wire.content]))
    .map((parts) => [...parts.flat(), ...wire.ending])

/** The bytes of frames in a framing. An array has their data. */
const body = (wire: WireFormat, framing: Framing, frames: ReadonlyArray<string>, end: string): Uint8Array => {
  if (framing === "document") return encode(`${end}${wire.document}${end}`)
  if (framing === "events") return encode(frames.join("").replaceAll("\n", end))
  return encode(`[${frames.flatMap(dataOf).join(`${end},${end}`)}\n]`)
}

const dataOf = (frame: string): ReadonlyArray<string> => {
  const data = /^data: (.*)$/m.exec(frame)?.[1]
  return data === undefined ? [] : [data]
}

const attempt = (
  name: string,
  bytes: fc.Arbitrary<Uint8Array>,
  more: fc.Arbitrary<Partial<Pick<Attempt, "head" | "breaks">>> = fc.constant({})
): fc.Arbitrary<Attempt> =>
  fc.tuple(bytes, cuts, more).map(([bytes, cuts, more]) => ({ name, head: head(), reads: cutAt(bytes, cuts), ...more }))

const good = (wire: WireFormat, framing: Framing): fc.Arbitrary<Attempt> =>
  attempt(
    "answer",
    fc.tuple(frames(wire), lineEnd, mark).map(([frames, end, mark]) => {
      const bytes = body(wire, framing, frames, end)
      return mark === "" ? bytes : Buffer.concat([encode(mark), bytes])
    }),
    // A connection that breaks after the end of an answer has lost nothing.
    framing === "events" ? fc.constantFrom({}, { breaks: "cut" as const }) : fc.constant({})
  )

const failure = (wire: WireFormat, framing: Framing): fc.Arbitrary<Attempt> => {
  const preamble = fc.tuple(some(wire.preamble), lineEnd)
  const texts = (...all: ReadonlyArray<string>) => fc.constantFrom(...all).map(encode)
  const errors = wire.documentErrors.map(([body]) => body)
  const common = [
    attempt(
      "status",
      texts(
        ...errors,
        wire.document,
        [...wire.content, ...wire.ending].join(""),
        "",
        "<html><title>Bad gateway</title></html>",
        "upstream connect error"
      ),
      fc.constantFrom(408, 429, 500, 502, 503, 504, 529, 401, 400).map((status) => ({ head: head(status) }))
    ),
    attempt("error in a success", texts(...errors, `[${wire.documentErrors[0]?.[0]}]`)),
    attempt("page", texts("<!doctype html><title>Just a moment</title>", " \n<html></html>")),
    attempt("empty", texts("", "\n", "\n\n  ")),
    attempt("nothing, then a cut", texts("", "\n"), fc.constantFrom({ breaks: "cut" }, { breaks: "stall" }))
  ]
  if (framing === "document") {
    const whole = encode(wire.document)
    const part = fc.integer({ min: 1, max: whole.length - 1 }).map((length) => whole.subarray(0, length))
    return fc.oneof(...common, attempt("part of a document", part, fc.constantFrom({}, { breaks: "cut" as const })))
  }
  const opened = (more: ReadonlyArray<string>) =>
    preamble.chain(([preamble, end]) =>
      fc.constantFrom(...more).map((last) => body(wire, framing, [...preamble, last], end))
    )
  const whole = fc.tuple(fc.array(fc.constantFrom(...wire.preamble), { minLength: 1, maxLength: 6 }), lineEnd)
  const unfinished = whole.map(([preamble, end]) => {
    const bytes = body(wire, framing, preamble, end)
    return framing === "array" ? bytes.subarray(0, bytes.length - 2) : bytes
  })
  return fc.oneof(
    ...common,
    attempt(
      "error frame",
      opened(wire.errors.map(([frame]) => frame).filter((frame) => framing === "events" || !frame.includes("{half")))
    ),
    attempt("end without an end mark", unfinished),
    attempt("cut, or stall", unfinished, fc.constantFrom({ breaks: "cut" }, { breaks: "stall" })),
    ...(framing === "events"
      ? [attempt("a mark alone", fc.constant(encode("data: [DONE]\n\n"))), attempt("text", texts("upstream gone"))]
      : [])
  )
}
