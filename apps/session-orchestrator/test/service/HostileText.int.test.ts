/** Tests hostile text: the refusal names the place and stays short. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

/** Room for a sentence or two, a list of valid values, and a quotation of some words. */
const LONGEST_PROBLEM = 4_000

const LONG = "m".repeat(100_000)

const refused = (service: Effect.Success<ReturnType<typeof Service.start>>, path: string, body: object | string) =>
  Effect.map(service.call({ path, body }), ({ headers, status, text }) => {
    assert.strictEqual(status, 400, text.slice(0, 1_000))
    assert.strictEqual(headers["content-type"], "application/problem+json")
    assert.isBelow(text.length, LONGEST_PROBLEM, text.slice(0, 1_000))
    return JSON.parse(text)
  })

It.live("a problem quotes the beginning of a client's text, and no more", function* () {
  const service = yield* Service.start()
  const id = yield* service.create()
  const bodies: ReadonlyArray<readonly [path: string, body: object]> = [
    ["/v1/conversations", { model: LONG }],
    ["/v1/conversations", { model: `scripted-${LONG}/m` }],
    ["/v1/conversations", { model: `${LONG}/${LONG}` }],
    ["/v1/conversations", { [LONG]: 1 }],
    ["/v1/conversations", { retry: { [LONG.slice(0, 60_000)]: 1 } }],
    ["/v1/conversations", { retry: { profile: LONG.slice(0, 60_000) } }],
    ["/v1/conversations", { retry: { budget: LONG.slice(0, 60_000) } }],
    ["/v1/conversations", { retry: { routing: { type: "round-robin", targets: [LONG.slice(0, 60_000)] } } }],
    ["/v1/conversations", { retry: { finalReport: { schema: { type: LONG.slice(0, 60_000) } } } }],
    ["/v1/conversations", { retry: { finalReport: { schema: { $ref: LONG.slice(0, 60_000) } } } }],
    ["/v1/conversations", { retry: { finalReport: { schema: { pattern: `(${LONG.slice(0, 60_000)}` } } } }],
    [`/v1/conversations/${id}/turns`, { prompt: "Hi", turnId: LONG }],
    [`/v1/conversations/${id}/turns`, { prompt: "Hi", [LONG]: 1 }],
    [`/v1/conversations/${id}/retry-now`, { commandId: LONG }],
    [`/v1/conversations/${id}/switch-target`, { model: `scripted-${LONG}/m` }]
  ]
  for (const [path, body] of bodies) yield* refused(service, path, body)
  const { detail } = yield* refused(service, "/v1/conversations", { model: `other/${LONG}` })
  assert.include(detail, `"other/${"m".repeat(54)}" and 99946 characters more`)
})
