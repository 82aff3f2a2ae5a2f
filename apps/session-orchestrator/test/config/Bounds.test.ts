/** Tests the least and the largest number and length of each key, and refused values beside them. */
import { assert, describe, it } from "@effect/vitest"
import * as Configurations from "./Configurations.ts"

const own = (entry: object) => ({
  model: "simulated/steady",
  providers: { own: { type: "openai-compatible", baseUrl: "http://localhost:1/v1", ...entry } }
})
const anthropic = (entry: object) => ({
  model: "simulated/steady",
  providers: { own: { type: "anthropic", ...entry } }
})
const tool = (entry: object, name = "files") => ({ tools: { [name]: { command: "serve-tools", ...entry } } })

type Row = readonly [
  key: string,
  of: (value: never) => object,
  fine: ReadonlyArray<unknown>,
  refused: ReadonlyArray<unknown>
]

const row = <A>(key: string, of: (value: A) => object, fine: ReadonlyArray<A>, refused: ReadonlyArray<A>): Row => [
  key,
  of,
  fine,
  refused
]

const rows: ReadonlyArray<Row> = [
  row("server.port", (port: number) => ({ server: { port } }), [0, 1, 65_535], [-1, 65_536, 1.5]),
  row("server.token", (token: string) => ({ server: { token } }), ["x".repeat(16)], ["x".repeat(15)]),
  row("cluster.shards", (shards: number) => ({ cluster: { shards } }), [1, 10_000], [0, 10_001, 1.5]),
  row(
    "cluster.runner",
    (runner: string) => ({ cluster: { runner } }),
    ["h:1", "10.0.0.5:65535", "[::1]:4748"],
    ["h:0", "h:65536", "h", "h:", ":1", "h:123456", "[x]:1"]
  ),
  row("limits.calls", (calls: number) => own({ limits: { calls } }), [1], [0, 1.5]),
  row("limits.requests", (requestsPerMinute: number) => own({ limits: { requestsPerMinute } }), [1], [0]),
  row("limits.tokens", (tokensPerMinute: number) => own({ limits: { tokensPerMinute } }), [1], [0]),
  row("maxTokens", (maxTokens: number) => anthropic({ maxTokens }), [1], [0]),
  row("tools.maxOutput", (maxOutput: number) => tool({ maxOutput }), [1_024, 1_048_576], [1_023, 1_048_577]),
  row(
    "a tool server's name",
    (name: string) => tool({}, name),
    ["a", "A1_-", "a".repeat(32)],
    ["a".repeat(33), "-a", "a.b", ""]
  ),
  row(
    "retryLog.maxBytes",
    (maxBytes: number) => ({ telemetry: { retryLog: { path: "r", maxBytes } } }),
    [1_000],
    [999]
  ),
  row("retryLog.keep", (keep: number) => ({ telemetry: { retryLog: { path: "r", keep } } }), [0, 1_000], [-1, 1_001])
]

describe("the configuration", () => {
  it.each(rows)("takes %s within its bounds, and nothing beside them", (_, of, fine, refused) => {
    for (const value of fine)
      assert.deepStrictEqual([value, Configurations.problems({ file: of(value as never) })], [value, []])
    for (const value of refused)
      assert.lengthOf(Configurations.problems({ file: of(value as never) }), 1, String(value))
  })
})
