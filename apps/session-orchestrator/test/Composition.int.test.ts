/** Tests the composed service against a provider that counts its requests. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { WaitIsOver, withWait } from "./service/LongerWaits.ts"
import * as Service from "./service/Service.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const STALLS = "a stream that stalls"

const formats = [
  ["openai-compatible", "openai"],
  ["anthropic", "anthropic"]
] as const

describe.each(formats)("one attempt over %s", (format, dialect) => {
  /** Failures after which clients, SDKs and HTTP stacks may repeat a request by themselves. */
  const trouble: ReadonlyArray<readonly [what: string, response: ScriptedServer.ScriptedResponse]> = [
    ["429 that names its delay", { status: 429, headers: { "retry-after": "0.001" }, body: "{}" }],
    ["408", { status: 408, body: "" }],
    ["409", { status: 409, headers: { "x-should-retry": "true" }, body: "" }],
    ["503 on a connection that closes", { status: 503, headers: { connection: "close" }, body: "" }],
    ["529", { status: 529, body: ErrorBody.envelope("overloaded", dialect) }],
    ["a redirect that keeps the method", { status: 307, headers: { location: "/v1/elsewhere" }, body: "" }],
    ["a connection that is cut before the headers", "reset"],
    ["a stream that is cut before content", { frames: answerFrames(dialect, "No.").slice(0, 1), cutAfter: 1 }],
    [STALLS, { frames: [], stallAfter: 0 }],
    ["an error inside a 200 stream", { frames: [ScriptedServer.errorFrame(dialect, "overloaded")] }],
    ["an empty 200", { status: 200, body: "" }]
  ]

  it.live("rule C9: is one request, whatever goes wrong, on a connection that is used again or not", () =>
    withWait(
      0.15,
      Effect.fnUntraced(function* (seconds) {
        const service = yield* Service.start({ format, retry: { enabled: false } })
        const id = yield* service.create()
        // Only a stalled call is given up: an answer may take as long as the machine needs.
        const impatient = yield* service.create({ retry: { requestTimeout: { firstContent: `${seconds} seconds` } } })
        const ask = (id: string) =>
          Effect.map(
            service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } }),
            ({ text }): { readonly status: string } => JSON.parse(text)
          )
        let asked = 0
        for (const [what, response] of trouble) {
          // An answer before each failure: its connection is kept, and the failure comes on that connection.
          service.provider.respond({ frames: answerFrames(dialect, "Yes.") }, response)
          assert.strictEqual((yield* ask(id)).status, "completed", what)
          assert.strictEqual((yield* ask(what === STALLS ? impatient : id)).status, "failed", what)
          asked += 2
          // The limit was over before the call had left.
          if (what === STALLS && service.provider.count() === asked - 1) return yield* new WaitIsOver()
          assert.strictEqual(service.provider.count(), asked, what)
        }
      })
    )
  )
})
