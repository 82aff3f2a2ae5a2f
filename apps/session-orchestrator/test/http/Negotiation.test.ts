import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Negotiation from "../../src/http/Negotiation.ts"

const choose = (accept: string | undefined) =>
  Negotiation.choose(accept, ["application/json", "application/x-ndjson", "text/event-stream"])

it("no header, any type and unknown types all mean the first offer", () => {
  for (const accept of [undefined, "*/*", "", "text/html", "application/*", "nonsense;;q=,"]) {
    expect(choose(accept)).toBe("application/json")
  }
})

it.each([
  ["a named offer behind an unknown type", "text/html, application/x-ndjson;q=0.5", "application/x-ndjson"],
  ["one in another case", "Text/Event-Stream", "text/event-stream"],
  ["one of a named type", "text/*", "text/event-stream"],
  ["a named offer behind a wildcard", "*/*, application/x-ndjson", "application/x-ndjson"],
  ["a named offer behind its type", "application/*, application/x-ndjson", "application/x-ndjson"],
  ["one of a named type behind a wildcard", "*/*, text/*", "text/event-stream"],
  ["one with q=1", "application/x-ndjson;q=1", "application/x-ndjson"],
  ["the one that is not rejected", "application/json;q=0, application/x-ndjson;q=0.5", "application/x-ndjson"],
  ["a named offer before one", "text/event-stream, */*", "text/event-stream"],
  ["the higher q", "application/x-ndjson;q=0.5, text/event-stream;q=0.9", "text/event-stream"],
  ["the first of equals", "text/event-stream, application/x-ndjson", "text/event-stream"],
  ["the first of the same, turned round", "application/x-ndjson, text/event-stream", "application/x-ndjson"],
  ["none with q=0", "application/json;q=0, */*", "application/x-ndjson"],
  ["the first, where the one that is named is rejected", "text/event-stream;q=0", "application/json"],
  ["the first of equals, one of them with q=1", "text/event-stream;q=1, application/x-ndjson", "text/event-stream"],
  ["the higher q of a wildcard", "application/x-ndjson;q=0.5, */*", "application/json"],
  ["the first same", "text/event-stream;q=0.1, application/x-ndjson;q=0.5, text/event-stream", "application/x-ndjson"]
])("%s is chosen: %s", (_what, accept, offer) => expect(choose(accept)).toBe(offer))

/** Characters of a token (RFC 9110, section 5.6.2). */
const token = (most: number) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^[a-zA-Z0-9!#$%&'*+.^_|~-]{1,${most}}$`)))

/** A header's text may have any of these between quotes. */
const quotable = Schema.String.check(Schema.isPattern(/^[\t !-~]{0,8}$/))

const blank = Schema.Literals(["", " ", "\t", "  "])

const Preference = Schema.Struct({
  name: Schema.Union([token(6), Schema.Literals(["respond-async", "Respond-Async", "wait", "return"])]),
  value: Schema.Union([
    Schema.Struct({ type: Schema.tag("none") }),
    Schema.Struct({ type: Schema.tag("token"), value: token(6) }),
    Schema.Struct({ type: Schema.tag("quoted"), value: quotable })
  ]),
  parameter: Schema.Union([token(6), quotable]),
  blanks: Schema.Tuple([blank, blank, blank, blank])
})

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** One preference as a client may write it. */
const write = ({ blanks: [a, b, c, d], name, parameter, value }: typeof Preference.Type): string => {
  const text = value.type === "none" ? "" : `${b}=${c}${value.type === "token" ? value.value : quoted(value.value)}`
  return `${a}${name}${text}${parameter === "" ? "" : `${c};${d}p=${quoted(parameter)}`}${d}`
}

describe("Prefer", () => {
  it.prop(
    "reads names in any case, values as tokens or quoted, and the first of repeated preferences",
    { preferences: Schema.Array(Preference) },
    ({ preferences }) => {
      const first = preferences.find(({ name }) => name.toLowerCase() === "respond-async")
      const isAsked = first !== undefined && (first.value.type === "none" || first.value.value === "")
      expect(Negotiation.isAsync(preferences.map(write).join(","))).toBe(isAsked)
    }
  )

  it.prop(
    "ignores unreadable parts at any position",
    {
      before: Schema.String.check(Schema.isPattern(/^[^",\\]{0,12}$/)),
      after: Schema.String.check(Schema.isPattern(/^.{0,12}$/))
    },
    ({ after, before }) => {
      const isTwice = /^\s*respond-async\s*(?:;|=|$)/i.test(before)
      const isAsked = Negotiation.isAsync(`${before},respond-async,${after}`)
      if (!isTwice) expect(isAsked).toBe(true)
    }
  )

  it.for([
    [undefined, false],
    ["handling=lenient,, respond-async ,", true],
    ["respond-asynchronously", false],
    ['note="never closed, respond-async', false],
    ["note; respond-async", false],
    ["respond async", false]
  ] as const)("%s: %s", ([header, expected]) => {
    expect(Negotiation.isAsync(header)).toBe(expected)
  })
})
