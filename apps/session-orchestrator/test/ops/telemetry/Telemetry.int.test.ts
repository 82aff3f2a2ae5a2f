/** Tests the service's telemetry with third-party readers: a Prometheus parser, an OTLP decoder. */
import { TemporaryFile } from "@holdfast/journal/testing"
import manifest from "../../../package.json" with { type: "json" }
import { assert, describe, it } from "@effect/vitest"
import { Observer } from "@holdfast/kernel"
import { Eventful, Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Context, Duration, Effect, Fiber, Layer, Metric, Redacted } from "effect"
import { readFileSync } from "node:fs"
import * as fs from "node:fs"
import * as path from "node:path"
import { labelValues } from "../../../src/ops/telemetry/metrics/MetricLabels.ts"
import * as TurnMetrics from "../../../src/ops/telemetry/metrics/TurnMetrics.ts"
import * as Telemetry from "../../../src/ops/telemetry/Telemetry.ts"
import { Config } from "../../../src/config/Config.ts"
import { CallCounts, RecentCalls } from "../../../src/engine/gate/RecentCalls.ts"
import * as Configurations from "../../config/Configurations.ts"
import * as Process from "../../service/Process.ts"
import * as Service from "../../service/Service.ts"
import { toolCalls } from "../../service/ToolFrames.ts"
import * as Observations from "./Observations.ts"
import * as PromQl from "./PromQl.ts"
import * as PrometheusText from "./PrometheusText.ts"
import * as Receivers from "./Receivers.ts"
import * as It from "../../It.ts"

const { ErrorBody, answerFrames, toolCallFrames } = ScriptedServer

const overloaded = { status: 529, body: ErrorBody.envelope("overloaded", "anthropic") }
const refused = { status: 401, body: "{}" }
const KEY = "sk-planted-0123456789"
const leaky = { status: 503, body: { error: { message: `The key ${KEY} is fine, we are not` } } }

/** A separate registry for each test, because metrics belong to the process. */
const check = It.within(
  Layer.sync(Metric.MetricRegistry, () => new Map()),
  it.live
)

type Running = Effect.Success<ReturnType<typeof Service.start>>

const prompt = (service: Running, id: string, turnId: string) =>
  service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "A secret prompt", turnId } })

const metricsOf = (service: Running) =>
  Effect.map(service.call({ path: "/metrics" }), ({ text }) => PrometheusText.read(text))

const counted = Effect.map(Effect.context<never>(), (context) => {
  const labels = labelValues([], (name) => name)
  return TurnMetrics.observer({ providers: labels, models: labels, tools: labels, targets: [] }, context)
})

/** Kernel turns with everything that needs routing and reports, and a crash in the middle of an answer. */
const turnsOfTheKernel = [
  Effect.flatMap(counted, (observer) => Scenario.straight({ ...Eventful.turn(), observer })),
  Effect.flatMap(counted, (observer) => {
    let lives = 0
    const diesOnce = Scenario.dying((done) => done === "step/0/attempt/0" && lives++ === 0)
    return diesOnce({ scripts: [ScriptedProvider.answer("lost"), ScriptedProvider.answer("Here")], observer })
  })
]

/** A turn that fails, calls a tool and answers; a refused turn; commands; an incident; and turns of the kernel. */
const everything = Effect.gen(function* () {
  const webhook = yield* Receivers.receiver()
  const service = yield* Service.start({
    apiKey: KEY,
    telemetry: {
      notifications: {
        after: Duration.zero,
        webhook: { url: Redacted.make(webhook.url), headers: {} },
        command: undefined
      }
    }
  })
  service.provider.respond(
    overloaded,
    { frames: toolCallFrames("openai", "search", { query: "x" }) },
    { frames: answerFrames("openai", "A secret answer") },
    refused
  )
  const id = yield* service.create()
  yield* prompt(service, id, "t1")
  yield* prompt(service, id, "t2")
  yield* service.call({ path: `/v1/conversations/${id}/abort`, method: "POST" })
  // A notice is counted when its receiver's answer has come, which is later than the receiver has it.
  yield* Process.eventually(
    "3 notices to be counted",
    Effect.map(metricsOf(service), (metrics) =>
      PrometheusText.valueOf(metrics, "holdfast_notifications_total", { receiver: "webhook", outcome: "taken" })
    ),
    (count) => count >= 3
  )
  yield* Effect.forEach(turnsOfTheKernel, (run) => Effect.flatMap(run, ({ fiber }) => Fiber.join(fiber)))
  return service
})

const page = readFileSync(new URL("../../../../../docs/telemetry.md", import.meta.url), "utf8")

const documented = Array.from(
  page.matchAll(/^\| `(holdfast_\w+)(?:\{([\w,]+)\})?` \| (\w+) \|/gm),
  ([, name = "", labels = "", type = ""]) => ({ name, labels: labels.split(",").filter(Boolean).sort(), type })
)

/** Exists with the first answer through the gateway that names a limit: `gateway/LimitGauges.int.test.ts`. */
const OF_GATEWAY = "holdfast_limit_used_ratio"

describe("metrics", () => {
  check("rule A16: are read by a Prometheus parser, and are as docs/telemetry.md has them", function* () {
    const service = yield* everything
    const metrics = yield* metricsOf(service)
    const shown = Array.from(metrics.types)
      .filter(([name]) => name.startsWith("holdfast_"))
      .map(([name, type]) => ({ name, labels: PrometheusText.labelsOf(metrics, name), type }))
    const byName = (a: { readonly name: string }, b: { readonly name: string }) => (a.name < b.name ? -1 : 1)
    const expected = documented.filter(({ name }) => name !== OF_GATEWAY)
    assert.deepStrictEqual(shown.toSorted(byName), expected.toSorted(byName))
  })

  check("include the process, the build and the readiness, under the names in docs/telemetry.md", function* () {
    const metrics = yield* metricsOf(yield* Service.start())
    const names = Array.from(page.matchAll(/`((?:process|nodejs)_\w+)`/g), ([, name = ""]) => name)
    assert.isAbove(names.length, 8)
    for (const name of names) assert.isTrue(metrics.types.has(name), name)
    assert.isAbove(PrometheusText.valueOf(metrics, "process_resident_memory_bytes"), 10_000_000)
    assert.isAbove(PrometheusText.valueOf(metrics, "process_open_fds"), 2)
    assert.strictEqual(PrometheusText.valueOf(metrics, "holdfast_ready"), 1)
    assert.strictEqual(PrometheusText.valueOf(metrics, "holdfast_build_info", { version: manifest.version }), 1)
  })

  check("the calls of endpoints are counted, without lost ones and failures taken over from others", function* () {
    const config = Layer.succeed(Config, Configurations.config())
    const context = yield* Layer.build(Telemetry.layer.pipe(Layer.provide(config)))
    const { completed, failed, overloaded } = Observations
    const shared = { ...failed, failure: { ...overloaded, shared: true } } as const
    const ended = [{ _tag: "Lost", endedAt: 9 } as const, { _tag: "Interrupted", endedAt: 9 } as const]
    for (const outcome of [completed, failed, shared, ...ended])
      Context.get(context, Observer.Observer).attempt?.(Observations.attempt({ outcome }))
    const calls = Context.get(context, RecentCalls).read(9_000)
    const expected = new CallCounts(0)
    expected.count({ target: Observations.place.target, endedAt: 3_000, isAnswered: true })
    expected.count({ target: Observations.place.target, endedAt: 2_000, failure: overloaded, isAnswered: false })
    expected.count({ target: Observations.place.target, endedAt: 9, isAnswered: false })
    assert.deepStrictEqual(calls, expected.read(9_000))
  })

  it("exist for every query of the dashboard, and the queries are PromQL", () => {
    const file = new URL("../../../../../docs/grafana-dashboard.json", import.meta.url)
    const dashboard: {
      readonly panels: ReadonlyArray<{
        readonly id: number
        readonly targets: ReadonlyArray<{ readonly expr: string }>
      }>
      readonly templating: { readonly list: ReadonlyArray<{ readonly definition?: string }> }
    } = JSON.parse(readFileSync(file, "utf8"))
    const exists = new Set([
      ...Array.from(page.matchAll(/`((?:process|nodejs)_\w+)`/g), ([, name = ""]) => name),
      ...documented.flatMap(({ name, type }) =>
        type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name]
      )
    ])
    const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    assert.isAbove(queries.length, 20)
    assert.strictEqual(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length)
    for (const query of queries) {
      // Grafana replaces these before it sends the query to Prometheus.
      const text = query.replaceAll("$__rate_interval", "5m").replaceAll("$provider", ".*")
      const { isValid, selectors } = PromQl.read(text)
      assert.isTrue(isValid, query)
      const found = selectors.map(({ name }) => name)
      assert.isAbove(found.length, 0, query)
      for (const name of found) assert.isTrue(exists.has(name), `${name} in ${query}`)
    }
    const variables = dashboard.templating.list.flatMap(({ definition }) => definition ?? [])
    for (const definition of variables) assert.isTrue(exists.has(/\((\w+),/.exec(definition)?.[1] ?? ""), definition)
    const inUse = queries.join(" ")
    for (const { name } of documented) assert.include(inUse, name, "no panel shows it")
  })
})

describe("traces", () => {
  check("rule A16: of a turn reach a collector over OTLP as one trace, without text of the conversation", function* () {
    const collector = yield* Receivers.receiver()
    const url = `${collector.url}/v1/traces`
    const service = yield* Service.start({
      apiKey: KEY,
      telemetry: { otlp: { url, headers: { "x-key": Redacted.make("planted-header") } } }
    })
    service.provider.respond(
      { status: 529, body: { error: { type: "overloaded_error", code: `no-${KEY}`, message: `No ${KEY}` } } },
      { frames: toolCalls({ name: "search" }, { name: "look" }) },
      { frames: answerFrames("openai", "A secret answer") }
    )
    yield* prompt(service, yield* service.create(), "t1")
    yield* service.stop
    const spans = Receivers.spansOf(collector.requests)
    assert.strictEqual(
      spans.map(({ name }) => name).join(", "),
      "chat m, retry wait, chat m, execute_tool search, execute_tool look, step 0, chat m, step 1, invoke_agent holdfast"
    )
    assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
    assert.match(spans[0]?.traceId ?? "", /^[0-9a-f]{32}$/)
    const ids = new Set(spans.map(({ spanId }) => spanId))
    for (const { name, parentSpanId } of spans) {
      assert.isTrue(name === "invoke_agent holdfast" ? parentSpanId === "" : ids.has(parentSpanId), name)
    }
    const [failed] = spans
    assert.deepInclude(failed?.attributes, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "scripted",
      "error.type": "overloaded",
      "http.response.status_code": 529,
      "server.address": "127.0.0.1"
    })
    assert.strictEqual(failed?.status, 2)
    assert.isAtLeast(spans[1]?.ms ?? 0, 10)
    const bytes = collector.requests.map(({ body }) => body.toString("latin1")).join("")
    assert.notInclude(bytes, "secret")
    assert.notInclude(bytes, KEY)
    assert.strictEqual(collector.requests[0]?.headers["x-key"], "planted-header")
    assert.strictEqual(collector.requests[0]?.path, "/v1/traces")
  })
})

describe("the retry log", () => {
  check("rule M4: has a line for each retry of the service, without its key", function* () {
    const file = path.join(path.dirname(yield* TemporaryFile.temporaryFile), "retries.jsonl")
    const service = yield* Service.start({
      apiKey: KEY,
      retry: { ...Service.QUICK, maxRetries: 2 },
      telemetry: { retryLog: { path: file, maxBytes: 1_000_000, keep: 1 } }
    })
    service.provider.respond(leaky, { frames: answerFrames("openai", "Here") }, leaky, leaky, leaky)
    service.provider.respond({ frames: answerFrames("openai", "Here") })
    const id = yield* service.create()
    yield* prompt(service, id, "t1")
    yield* prompt(service, id, "t2")
    yield* service.call({ path: `/v1/conversations/${id}/retry`, body: { turnId: "t3" } })
    yield* service.stop
    const text = fs.readFileSync(file, "utf8")
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    assert.deepStrictEqual(
      lines
        .map(({ attempt = "", delayMs = "", turnId, type }) => `${turnId} ${type} ${attempt} ${delayMs}`.trim())
        .join(", "),
      "t1 retry 0 10, t1 retry_succeeded 0, t1 turn_ended, t2 retry 0 10, t2 retry 1 20, t2 retry_exhausted 1, " +
        "t2 turn_ended, t3 manual_retry 0"
    )
    assert.deepInclude(lines[0], {
      provider: "scripted",
      model: "m",
      api: "openai-compatible",
      stopReason: "error",
      errorMessage: "The key [redacted] is fine, we are not",
      cwd: process.cwd(),
      sessionId: id
    })
    assert.notInclude(text, KEY)
  })
})

describe("notifications", () => {
  const notified = (webhook: string, command?: readonly [string, ...Array<string>]) => ({
    notifications: {
      after: Duration.zero,
      webhook: { url: Redacted.make(webhook), headers: { authorization: Redacted.make("Bearer planted-0123") } },
      command
    }
  })

  check("rule X12: reach a webhook and a command once at the beginning and the end of an incident", function* () {
    const webhook = yield* Receivers.receiver([503])
    const directory = path.dirname(yield* TemporaryFile.temporaryFile)
    fs.mkdirSync(directory, { recursive: true })
    const heard = path.join(directory, "heard")
    const append = `process.stdin.pipe(require("node:fs").createWriteStream(process.argv[1], { flags: "a" }))`
    const service = yield* Service.start({
      apiKey: KEY,
      telemetry: notified(`${webhook.url}/hook`, [process.execPath, "-e", append, heard])
    })
    service.provider.respond(leaky, leaky, leaky, { frames: answerFrames("openai", "Here") })
    yield* prompt(service, yield* service.create(), "t1")
    const lines = () => (fs.existsSync(heard) ? fs.readFileSync(heard, "utf8").split("\n").filter(Boolean) : [])
    yield* Receivers.sent(webhook, 3)
    yield* Process.eventually("two notices at the command", Effect.sync(lines), ({ length }) => length >= 2)
    const bodies = webhook.requests.map(({ body }) => JSON.parse(body.toString()))
    // The first was refused once and sent again.
    assert.strictEqual(bodies.map(({ type }) => type).join(), "incident-began,incident-began,incident-ended")
    const read = lines().map((line) => JSON.parse(line))
    assert.deepStrictEqual(read, bodies.slice(1))
    assert.deepInclude(bodies[0], {
      provider: "scripted",
      model: "m",
      waiting: 1,
      reason: "overloaded",
      code: "503",
      message: "The key [redacted] is fine, we are not"
    })
    assert.strictEqual(webhook.requests[0]?.path, "/hook")
    assert.strictEqual(webhook.requests[0]?.headers.authorization, "Bearer planted-0123")
    assert.strictEqual(webhook.requests[0]?.headers["idempotency-key"], bodies[0].id)
  })

  check("rule X12: name the next attempt, and the address in the page where a question is answered", function* () {
    const webhook = yield* Receivers.receiver()
    const service = yield* Service.start({
      retry: {
        ...Service.QUICK,
        spendGuard: { after: Duration.millis(5), maxInputTokens: 20, answerWithin: Duration.hours(1) }
      },
      telemetry: notified(webhook.url)
    })
    service.provider.respond(overloaded)
    const id = yield* service.create()
    const live = yield* service.open({
      path: `/v1/conversations/${id}/turns`,
      headers: { accept: "application/x-ndjson" },
      body: { prompt: "Say what you would do if no model had answered. ".repeat(10), turnId: "t1" }
    })
    const events = Service.eventsOf(yield* live.until('"asks"'))
    const wait = events.find((event) => event.type === "provider-retry") ?? assert.fail("it does not wait")
    yield* Receivers.sent(webhook, 2)
    const bodies = webhook.requests.map(({ body }) => JSON.parse(body.toString()))
    const began = bodies.find(({ type }) => type === "incident-began") ?? assert.fail("no incident")
    assert.strictEqual(began.nextAt, new Date(wait.retryAt).toISOString())
    assert.match(began.text, / The next attempt is at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d UTC\.$/)
    const question = bodies.find(({ type }) => type === "question") ?? assert.fail("no question")
    assert.strictEqual(question.url, `http://127.0.0.1:${service.port}/#/c/${id}`)
    assert.include(question.text, question.url)
  })

  check("rule M4, X12: a webhook or command that hangs, or a log without room, slows no turn and no end", function* () {
    const webhook = yield* Receivers.receiver(["hangs"])
    const directory = path.dirname(yield* TemporaryFile.temporaryFile)
    const running = path.join(directory, "running")
    const hang = `require("node:fs").writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)`
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(path.join(directory, "no-directory"), "")
    const retryLog = { path: path.join(directory, "no-directory", "retries.jsonl"), maxBytes: 10_000, keep: 1 }
    const service = yield* Service.start({
      telemetry: { ...notified(webhook.url, [process.execPath, "-e", hang, running]), retryLog }
    })
    service.provider.respond(overloaded, overloaded, { frames: answerFrames("openai", "Here") })
    const id = yield* service.create()
    const { text } = yield* prompt(service, id, "t1")
    assert.strictEqual(JSON.parse(text).status, "completed")
    const pid = () => (fs.existsSync(running) ? fs.readFileSync(running, "utf8") : "")
    yield* Receivers.sent(webhook, 1)
    yield* Process.eventually("a command that hangs", Effect.sync(pid), (text) => text !== "")
    yield* service.stop
    assert.throws(() => process.kill(Number(pid()), 0), /ESRCH/)
  })
})
