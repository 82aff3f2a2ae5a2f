import { describe, expect, it } from "@effect/vitest"
import { type Health, Ids, type TurnState } from "@holdfast/wire"
import * as WatchCommand from "../../../src/cli/client/WatchCommand.ts"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import * as CommandLine from "../CommandLine.ts"
import * as It from "../../It.ts"

const NOW = Date.UTC(2026, 10, 24, 22)
const RESET = NOW + 5 * 3_600_000
const moment = LocalTime.toSeconds(NOW)

const turn = (n: number, id = `holdfast-call-${n}`): TurnState.TurnSummary => ({
  conversationId: Ids.ConversationId.make(id),
  turnId: Ids.TurnId.make(`call-${n}`),
  status: "waiting",
  model: "anthropic~client/claude",
  acceptedAt: NOW,
  attempts: 1,
  prompt: `claude-cli: POST /v1/messages ${"x".repeat(40)}`,
  wait: { retry: 0, retryAt: NOW + n * 60_000, since: NOW },
  error: { reason: "overloaded", message: "Overloaded" }
})

const limit = { provider: "anthropic", credential: "client a1b2c3", resetAt: RESET, at: NOW }
const window = (name: string, used: number): Health.WindowReport => ({ ...limit, name, used })

const service = { at: NOW, countedSince: NOW, endpoints: [], limits: [], boundCalls: 0 }
const health = (windows: ReadonlyArray<Health.WindowReport>): Health.Health => ({ ...service, windows })

describe("the status line", () => {
  it("has held calls and until when, and the limits that are used most", () => {
    const windows = [window("5h", 0.999), window("7d", 0.5), window("requests", 0.55), window("tokens", 0.1)]
    const line = WatchCommand.lineOf({ turns: [turn(2), turn(1), turn(9, "another")], health: health(windows) })
    expect(line).toBe(
      `Holdfast: 2 calls held, overloaded, next at ${moment(NOW + 60_000)}; ` +
        `anthropic 5h 99 %, begins anew ${moment(RESET)}; anthropic 7d 50 %, begins anew ${moment(RESET)}`
    )
    expect(WatchCommand.lineOf({ turns: [], health: health([window("5h", 0.2)]) })).toBe("Holdfast")
  })

  It.live("is empty without a service, and has no error", function* () {
    const found = yield* CommandLine.run(["status-line", "--url", "http://127.0.0.1:1"])
    expect(found).toMatchObject({ code: 0, stdout: "\n", stderr: "" })
  })
})

describe("the screen of watch", () => {
  it("rule X13: has the night so far, each turn that waits, and the endpoints", () => {
    const asking = { ...turn(3, "another"), wait: { ...turn(3).wait, asks: {} } } as unknown as TurnState.TurnSummary
    const lines = WatchCommand.screenOf(
      { turns: [turn(1), turn(0), asking], health: health([window("5h", 0.93)]) },
      "3 answered, 0 failed"
    )
    const said = `claude-cli: POST /v1/messages ${"x".repeat(29)}…`
    expect(lines.slice(1)).toEqual([
      "",
      "In the last 12 hours: 3 answered, 0 failed",
      "",
      `call-1 anthropic~client/claude overloaded, next ${moment(NOW + 60_000)} ${said}`,
      `call-0 anthropic~client/claude overloaded, waits for its program ${said}`,
      `call-3 anthropic~client/claude overloaded, asks you ${said}`,
      "",
      `Limit 5h of anthropic, client a1b2c3: 93 % used, begins anew ${moment(RESET)}`
    ])
    const idle = WatchCommand.screenOf({ turns: [], health: health([window("5h", 0.93)]) }, "no turn").slice(1)
    expect(idle).toEqual(["", "In the last 12 hours: no turn", "", lines.at(-1)])
  })
})
