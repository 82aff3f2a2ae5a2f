import { expect, it } from "@effect/vitest"
import * as Negotiation from "../../src/http/Negotiation.ts"

const choose = (accept: string | undefined) =>
  Negotiation.choose(accept, ["application/json", "application/x-ndjson", "text/event-stream"])

it("no header, any type and unknown types all mean the first offer", () => {
  for (const accept of [undefined, "*/*", "", "text/html", "application/*", "nonsense;;q=,"]) {
    expect(choose(accept)).toBe("application/json")
  }
})

it("a named offer is chosen", () => {
  expect(choose("application/x-ndjson")).toBe("application/x-ndjson")
  expect(choose("Text/Event-Stream")).toBe("text/event-stream")
  expect(choose("text/*")).toBe("text/event-stream")
})

it("a named offer wins over one that a wildcard matches", () => {
  expect(choose("*/*, application/x-ndjson")).toBe("application/x-ndjson")
  expect(choose("text/event-stream, */*")).toBe("text/event-stream")
})

it("a higher q wins, and among equals the first named offer", () => {
  expect(choose("application/x-ndjson;q=0.5, text/event-stream;q=0.9")).toBe("text/event-stream")
  expect(choose("text/event-stream, application/x-ndjson")).toBe("text/event-stream")
  expect(choose("application/x-ndjson, text/event-stream")).toBe("application/x-ndjson")
})

it("q=0 rules an offer out", () => {
  expect(choose("application/json;q=0, */*")).toBe("application/x-ndjson")
})
