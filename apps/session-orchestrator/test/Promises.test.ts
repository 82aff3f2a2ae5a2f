/** Checks that limits and times on pages equal those of the program. */
import { DatabaseWait } from "@holdfast/journal/sql"
import { describe, expect, it } from "@effect/vitest"
import { Interruption, Spread } from "@holdfast/journal"
import { Duration } from "effect"
import { readFileSync } from "node:fs"
import * as Lease from "../src/cluster/Lease.ts"
import * as Cluster from "../src/cluster/Cluster.ts"
import * as Secrets from "../src/config/redaction/Secrets.ts"
import { DEFAULTS } from "../src/config/reading/Settings.ts"
import * as Backlog from "../src/engine/session/Backlog.ts"
import * as InterruptedTurns from "../src/engine/recovery/InterruptedTurns.ts"
import * as Commands from "../src/engine/orchestrator/Commands.ts"
import * as MissingTools from "../src/engine/turn/MissingTools.ts"
import * as Quarantine from "../src/engine/pacing/Quarantine.ts"
import * as Parking from "../src/engine/parking/Parking.ts"
import * as TaskProgress from "../src/base/system/TaskProgress.ts"
import * as GateTable from "../src/storage/tables/GateTable.ts"
import * as Causes from "../src/ops/telemetry/incidents/Causes.ts"
import * as Incidents from "../src/ops/telemetry/incidents/Incidents.ts"
import * as Labels from "../src/ops/telemetry/metrics/MetricLabels.ts"
import * as Owner from "../src/cluster/Owner.ts"
import { Intake, LineTransport, Offers, ToolServer, ToolServers } from "@holdfast/mcp"
import * as HttpServer from "../src/http/HttpServer.ts"
import * as LiveResponse from "../src/http/body/LiveResponse.ts"
import { STALL_LIMIT } from "../src/rpc/Outlet.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const KIB = 1_024
const MIB = 1_024 * KIB

const { retryLog } = DEFAULTS

const pageOf = (name: string): string =>
  readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8").replaceAll(/\s+/g, " ")

/** A page's words with a number in them, the unit, and the limit. */
const promises: Readonly<
  Record<string, ReadonlyArray<readonly [says: RegExp, unit: number, limit: Duration.Duration | number]>>
> = {
  operations: [
    [/The shutdown takes (\d+) s at most/, SECOND, Duration.sum(HttpServer.ANSWER_GRACE, HttpServer.SHUTDOWN_GRACE)],
    [/Answers that have begun have (\d+) s to end/, SECOND, HttpServer.ANSWER_GRACE],
    [/Connections have (\d+) s to take the written bytes/, SECOND, HttpServer.SHUTDOWN_GRACE],
    [/A stream sends at least one byte every (\d+) s/, SECOND, LiveResponse.KEEP_ALIVE_INTERVAL],
    [/\| (\d+) \| it is resumed after all others, and alone/, 1, Interruption.SUSPECT],
    [/when no other runs \(after (\d+) s at most\)/, SECOND, Quarantine.PATIENCE_MS],
    [/wait until its next record \((\d+) s at most\)/, SECOND, Quarantine.HOLD_MS],
    [/start (\d+) ms apart/, 1, Spread.STEP_MS],
    [/all of them within (\d+) s/, SECOND, Spread.WINDOW_MS],
    [/Right after a start, turns wait up to (\d+) s for servers/, SECOND, ToolServers.FIRST_PATIENCE],
    [/held until it is up, for (\d+) minutes at most/, MINUTE, MissingTools.HOLD],
    [/the count is reset once it has answered a call or lasted (\d+) s/, SECOND, ToolServer.STEADY],
    [/waits up to (\d+) s for it, and is then answered/, SECOND, ToolServer.PATIENCE],
    [/does not answer a ping within (\d+) s either/, SECOND, ToolServer.PING],
    [/a message is longer than (\d+) MiB/, MIB, LineTransport.MAX_MESSAGE_BYTES],
    [/up to ([\d,]+) lines at once and/, 1, Intake.JUNK.burst],
    [/lines at once and (\d+) a second/, 1, Intake.JUNK.perSecond],
    [/at most ([\d,]+) are read at once/, 1, Intake.UNREQUESTED.burst],
    [/read at once and ([\d,]+) a second/, 1, Intake.UNREQUESTED.perSecond],
    [/`retries\.jsonl` and its older files \| (\d+) MB at most/, 1_000_000, (retryLog.keep + 1) * retryLog.maxBytes],
    [/the progress of operations longer than (\d+) s/, SECOND, TaskProgress.PATIENCE_MS]
  ],
  api: [
    [/a client that is more than (\d+) MiB behind/, MIB, Backlog.MAX_BEHIND],
    [/or reads nothing for (\d+) s; the turn/, SECOND, STALL_LIMIT],
    [/a client that reads again within (\d+) s receives it/, SECOND, LiveResponse.FAREWELL_LIMIT],
    [/not on disk after (\d+) s; `detail` has the cause/, SECOND, Commands.ANSWER_LIMIT]
  ],
  runners: [
    [
      /Prompts and commands meanwhile get 503 after (\d+) s/,
      SECOND,
      Duration.sum(Owner.CHECK_AFTER, Owner.CHECK_INTERVAL)
    ],
    [/loses PostgreSQL for more than (\d+) s/, SECOND, Lease.EXPIRATION_MS],
    [/Each runner logs that once, with the cause and the remedy, within (\d+) s/, SECOND, Cluster.REFRESH_LIMIT],
    [/get 503 after 6 s, or (\d+) s if/, SECOND, DatabaseWait.SILENCE_LIMIT],
    [/at once, and then after (\d+) s, 2 s, 4 s/, SECOND, InterruptedTurns.FIRST_MS],
    [/2 s, 4 s … (\d+) minutes, with a line in the log/, MINUTE, InterruptedTurns.MOST_MS],
    [/waits for longer than (\d+) s leaves the memory/, SECOND, Parking.RESIDENT_MS]
  ],
  testing: [[/is read ahead up to (\d+) s before its time/, SECOND, Parking.NEAR_MS]],
  configuration: [
    [/a runner that died are released after (\d+) seconds/, SECOND, GateTable.STALE_MS],
    [/the first (\d+) tools are offered that fit/, 1, Offers.MAX_TOOLS],
    [/that fit: (\d+) KiB a definition/, KIB, Offers.MAX_DEFINITION_BYTES],
    [/a definition, (\d+) KiB all of them/, KIB, Offers.MAX_DEFINITIONS_BYTES],
    [/A secret shorter than (\d+) characters is not searched for/, 1, Secrets.SHORTEST_SECRET]
  ],
  telemetry: [
    [/Up to \d+ models and (\d+) tools that the configuration does not name/, 1, Labels.MOST],
    [/names of more than (\d+) characters/, 1, Labels.LONGEST],
    [/`turns-failed` come (\d+) seconds after the turn/, SECOND, Incidents.SETTLE_MS]
  ]
}

describe("limits that follow from others", () => {
  it("a tool server that fails is started again after the times that the page has", () => {
    const { delaysMs, tailMs } = ToolServer.RESTARTS
    const delays = delaysMs.map((ms) => `${ms / SECOND} s`).join(", ")
    expect(pageOf("operations")).toContain(`The server is started again after ${delays}, then every minute`)
    expect(tailMs).toBe(MINUTE)
  })

  it("rule X6: what a runner is sure of lasts no longer than it may be silent", () => {
    expect(Lease.SURE_MS).toBe(Lease.EXPIRATION_MS - SECOND)
  })

  it("rule X12: an hour without a failed turn ends its cause", () => {
    expect(pageOf("telemetry")).toContain("no turn has failed so for an hour")
    expect(Causes.QUIET_MS).toBe(60 * MINUTE)
  })
})

describe.each(Object.entries(promises))("docs/%s.md", (page, said) => {
  const text = pageOf(page)
  it.each(said)("says what the program does: %s", (says, unit, limit) => {
    const number = Number(says.exec(text)?.[1]?.replace(",", ""))
    expect(number * unit).toBe(typeof limit === "number" ? limit : Duration.toMillis(limit))
  })
})
