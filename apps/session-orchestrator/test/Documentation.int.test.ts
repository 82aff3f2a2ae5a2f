/** Checks the numbers of the program that the pages promise: a change of one must change the other. */
import { DatabaseWait } from "@holdfast/journal/sql"
import { describe, expect, it } from "@effect/vitest"
import { Interruption, Spread } from "@holdfast/journal"
import { Duration } from "effect"
import { readFileSync } from "node:fs"
import * as Lease from "../src/cluster/Lease.ts"
import * as Owner from "../src/cluster/Owner.ts"
import * as Resolve from "../src/config/Resolve.ts"
import * as Settings from "../src/config/reading/Settings.ts"
import * as TelemetryChoice from "../src/config/TelemetryChoice.ts"
import * as ToolTable from "../src/config/ToolTable.ts"
import * as RestartDelays from "../src/recovery/RestartDelays.ts"
import * as Commands from "../src/orchestrator/Commands.ts"
import * as Backlog from "../src/session/Backlog.ts"
import * as MissingTools from "../src/turn/MissingTools.ts"
import * as Quarantine from "../src/pacing/Quarantine.ts"
import * as TurnRunner from "../src/turn/TurnRunner.ts"
import * as Causes from "../src/telemetry/incidents/Causes.ts"
import * as Labels from "../src/telemetry/metrics/MetricLabels.ts"
import { Intake, LineTransport, Offers, ToolServer, ToolServers } from "@holdfast/mcp"
import { DefaultAddress } from "@holdfast/wire"
import * as HttpServer from "../src/http/HttpServer.ts"
import * as LiveResponse from "../src/http/body/LiveResponse.ts"

const pageOf = (name: string) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), "utf8")

const seconds = (duration: Duration.Duration | number): string =>
  String((typeof duration === "number" ? duration : Duration.toMillis(duration)) / 1_000)

const KIB = 1_024

/** The steps of a schedule whose last one is a minute. */
const steps = ({ delaysMs, tailMs }: typeof ToolServer.RESTARTS): string =>
  `${delaysMs.map((ms) => `${seconds(ms)} s`).join(", ")}${tailMs === 60_000 ? "" : ` and ${tailMs}`}`

/** The text before a number, the number, and the text behind it. */
type Promise = readonly [before: string, value: number | string, after: string]

const promises: Readonly<Record<string, ReadonlyArray<Promise>>> = {
  operations: [
    ["The shutdown takes ", seconds(Duration.sum(HttpServer.ANSWER_GRACE, HttpServer.SHUTDOWN_GRACE)), " s at most"],
    ["Answers that have begun have ", seconds(HttpServer.ANSWER_GRACE), " s to end"],
    ["Connections have ", seconds(HttpServer.SHUTDOWN_GRACE), " s to take the written bytes"],
    ["at least one byte every ", seconds(LiveResponse.KEEP_ALIVE_INTERVAL), " s, however long its turn waits"],
    ["a client that is more than ", Backlog.MAX_BEHIND / KIB / KIB, " MiB behind, or reads nothing for"],
    ["or reads nothing for ", seconds(LiveResponse.STALL_LIMIT), " s; the turn"],
    ["A client that reads again within ", seconds(LiveResponse.FAREWELL_LIMIT), " s receives it"],
    ["a runner that was silent for ", seconds(Lease.EXPIRATION_MS), " s"],
    ["| ", Interruption.SUSPECT, " | it is resumed after all others, and alone"],
    ["when no other runs (after ", seconds(Quarantine.PATIENCE_MS), " s at most)"],
    ["until its next record (", seconds(Quarantine.HOLD_MS), " s at most)"],
    ["start one after another, ", Spread.STEP_MS, " ms apart"],
    ["all of them within ", seconds(Spread.WINDOW_MS), " s"],
    ["it is not on disk after ", seconds(Commands.ANSWER_LIMIT), " s"],
    [
      "Prompts and commands meanwhile get 503 after ",
      seconds(Duration.sum(Owner.CHECK_AFTER, Owner.CHECK_INTERVAL)),
      " s"
    ],
    ["or ", seconds(DatabaseWait.SILENCE_LIMIT), " s if PostgreSQL does not refuse but is silent"],
    ["at once, and then after ", seconds(RestartDelays.FIRST_MS), " s, 2 s, 4 s …"],
    ["4 s … ", RestartDelays.MOST_MS / 60_000, " minutes, with a line in the log"],
    ["leaves the memory of its runner ", seconds(TurnRunner.RESIDENT_MS), " to 10 s after it began to wait"],
    ["the turn is held until it is up, for ", Duration.toMinutes(MissingTools.HOLD), " minutes at most"],
    ["Right after a start, turns wait up to ", seconds(ToolServers.FIRST_PATIENCE), " s for servers"],
    ["The server is started again after ", steps(ToolServer.RESTARTS), ", then every minute"],
    [
      "`retries.jsonl` and its older files | ",
      ((TelemetryChoice.DEFAULTS.retryLog.keep + 1) * TelemetryChoice.DEFAULTS.retryLog.maxBytes) / 1e6,
      " MB at most"
    ],
    ["the count is reset once it has answered a call or lasted ", seconds(ToolServer.STEADY), " s"],
    ["waits up to ", seconds(ToolServer.PATIENCE), " s for it, and is then answered with the cause"],
    ["does not answer a ping within ", seconds(ToolServer.PING), " s either"],
    ["a message is longer than ", LineTransport.MAX_MESSAGE_BYTES / KIB / KIB, " MiB"],
    ["they are skipped, up to ", Intake.JUNK.burst.toLocaleString("en"), " lines at once"],
    ["lines at once and ", Intake.JUNK.perSecond, " a second (a KiB counts as a line)"],
    ["at most ", Intake.UNREQUESTED.burst.toLocaleString("en"), " are read at once"],
    ["read at once and ", Intake.UNREQUESTED.perSecond.toLocaleString("en"), " a second (a KiB counts as one)"]
  ],
  telemetry: [
    ["up to ", Labels.MOST, " tools that the configuration does not name keep their names"],
    ["names of more than ", Labels.LONGEST, " characters"],
    ["and no turn has failed so for ", Causes.QUIET_MS === 3_600_000 ? "an hour" : seconds(Causes.QUIET_MS), " |"]
  ],
  configuration: [
    ["takes any that is free, and the start prints which | `", DefaultAddress.PORT, "` | `HOLDFAST_PORT`"],
    ["takes any that is free, and the start prints which | `", Settings.DEFAULTS.server.port, "` | `HOLDFAST_PORT`"],
    ["Of one server the first ", Offers.MAX_TOOLS, " tools are offered that fit"],
    ["that fit: ", Offers.MAX_DEFINITION_BYTES / KIB, " KiB a definition"],
    ["a definition, ", Offers.MAX_DEFINITIONS_BYTES / KIB, " KiB all of them"],
    ["in bytes from ", Settings.MIN_OUTPUT_BYTES, " to "],
    [`in bytes from ${KIB} to `, Settings.MAX_OUTPUT_BYTES, ". A cut output is marked"],
    ["A cut output is marked | `", ToolTable.DEFAULTS.maxOutput, "`"],
    ['how long a call may take | `"', seconds(ToolTable.DEFAULTS.timeout), ' seconds"`'],
    ['to start and to list its tools | `"', seconds(ToolTable.DEFAULTS.startTimeout), ' seconds"`'],
    ["`Authorization: Bearer`; ", Settings.SHORTEST_TOKEN, " characters at least"],
    ['History and events always stay | `"', Duration.toDays(Settings.DEFAULTS.database.retention), ' days"`'],
    ["| `127.0.0.1:", Resolve.DEFAULT_RUNNER.port, "` | `HOLDFAST_CLUST"],
    ["only changed while none runs | `", Settings.DEFAULTS.cluster.shards, "`"],
    ['before it is an incident | `"', Duration.toMinutes(TelemetryChoice.DEFAULTS.notifications.after), ' minutes"`']
  ]
}

for (const [name, all] of Object.entries(promises)) {
  describe(`docs/${name}.md`, () => {
    const page = pageOf(name).replaceAll(/\s+/g, " ")
    it.each(all)("%s%s%s", (before, value, after) => expect(page).toContain(`${before}${value}${after}`))
  })
}
