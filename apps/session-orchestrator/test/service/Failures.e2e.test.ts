/** Compares log, notices and metrics of a process whose turns fail. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as PrometheusText from "../ops/telemetry/PrometheusText.ts"
import * as Receivers from "../ops/telemetry/Receivers.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Socket from "../http/Socket.ts"
import * as SideBySide from "./SideBySide.ts"

const test = SideBySide.atOnce(2)

const TURNS = 20
const KEY = "sk-revoked-0123456789"
const refused = {
  status: 401,
  body: { error: { message: `Incorrect API key provided: ${KEY}.`, code: "invalid_api_key" } }
}

interface Line {
  readonly level: string
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
}

interface Body {
  readonly type: string
  readonly reason: string
  readonly failed: number
  readonly text: string
}

/** The lines of a log so far; each is JSON. */
const linesOf = (stderr: string): ReadonlyArray<Line> => (stderr === "" ? [] : Socket.jsonLines(stderr))

const messagesOf = (stderr: string, level: string): ReadonlyArray<string> =>
  linesOf(stderr)
    .filter((line) => line.level === level)
    .map(({ message }) => message)

const bodiesOf = (requests: ReadonlyArray<Receivers.Request>): ReadonlyArray<Body> =>
  requests.map(({ body }) => JSON.parse(body.toString()))

const metricsOf = (service: ProcessSetup.Running) =>
  Effect.map(service.call({ path: "/metrics" }), ({ text }) => PrometheusText.read(text))

/** A process that reports incidents to a webhook after a second. */
const setup = Effect.gen(function* () {
  const webhook = yield* Receivers.receiver()
  const { config, directory, provider } = yield* ProcessSetup.setup()
  const providers = { scripted: { ...config.providers.scripted, apiKeyEnv: "SCRIPTED_KEY" } }
  const notifications = { after: "1 second", webhook: webhook.url }
  const service = yield* Process.start({
    directory,
    config: { ...config, providers, telemetry: { notifications } },
    env: { SCRIPTED_KEY: KEY }
  })
  return { directory, provider, service, webhook }
})

describe.concurrent("twenty turns with a revoked key", () => {
  test("rule X12, A16: are twenty lines of the log, one notice, and the increase of the metrics", function* () {
    const { directory, provider, service, webhook } = yield* setup
    provider.fallback(refused)
    const before = yield* metricsOf(service)
    const ids = Array.from({ length: TURNS }, (_, n) => `turn-${n}`)
    yield* Effect.forEach(
      ids,
      (turnId) => Effect.flatMap(service.create(), (id) => ProcessSetup.turn(service, id, turnId)),
      { concurrency: 5 }
    )
    yield* Receivers.sent(webhook, 1)
    const after = yield* metricsOf(service)
    const { code, stderr } = yield* service.end("SIGTERM")
    assert.strictEqual(code, 0)

    const failed = linesOf(stderr).filter(({ level }) => level === "WARN")
    assert.deepStrictEqual(failed.map(({ annotations }) => String(annotations["turn"])).toSorted(), ids.toSorted())
    for (const { annotations, message } of failed) {
      assert.strictEqual(message, "Turn failed: Incorrect API key provided: [redacted].")
      assert.deepInclude(annotations, { target: "scripted/m", reason: "auth", attempts: 1 })
      assert.match(String(annotations["conversation"]), /^\S+$/)
    }
    assert.deepStrictEqual(messagesOf(stderr, "ERROR"), [])

    const info = linesOf(stderr).filter(({ level }) => level === "INFO")
    assert.match(
      info.map(({ message }) => message).join("\n"),
      /^Holdfast has started\.\nStopping after SIGTERM.*\nHoldfast has stopped\.$/
    )
    const { configuration, database, model, version } = info[0]?.annotations ?? {}
    assert.deepStrictEqual(
      [configuration, database, model],
      [`${directory}/holdfast.config.json`, ProcessSetup.databaseIn(directory), "scripted/m"]
    )
    assert.match(String(version), /^\d+\.\d+\.\d+/)

    const [notice, ...others] = bodiesOf(webhook.requests)
    assert.deepStrictEqual(others, [])
    assert.deepInclude(notice, { type: "turns-failed", reason: "auth" })
    assert.notInclude(stderr + JSON.stringify(notice), KEY)

    const increase = (name: string, labels: Readonly<Record<string, string>>) => {
      const found = before.samples.some(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
      )
      assert.isTrue(found, `${name} is not there before the first failure`)
      return PrometheusText.valueOf(after, name, labels) - PrometheusText.valueOf(before, name, labels)
    }
    const at = { provider: "scripted", model: "m" }
    assert.strictEqual(increase("holdfast_turns_sealed_total", { status: "failed" }), TURNS)
    assert.strictEqual(increase("holdfast_turns_sealed_total", { status: "completed" }), 0)
    assert.strictEqual(increase("holdfast_attempts_total", { ...at, status: "auth" }), TURNS)
    assert.strictEqual(increase("holdfast_refusals_total", { because: "not-retryable" }), TURNS)
    assert.strictEqual(provider.count(), TURNS)
  })
})

describe.concurrent("the level of the log", () => {
  test("is HOLDFAST_LOG_LEVEL's, and --log-level overrides it", function* () {
    const { config, directory, provider } = yield* ProcessSetup.setup()
    provider.fallback(refused)
    const levels = Effect.fnUntraced(function* (flags: ReadonlyArray<string>) {
      const service = yield* Process.start({ directory, config, env: { HOLDFAST_LOG_LEVEL: "warn" }, flags })
      const id = yield* service.create()
      yield* ProcessSetup.turn(service, id, id)
      const { stderr } = yield* service.end("SIGTERM")
      return linesOf(stderr).map(({ level }) => level)
    })
    assert.deepStrictEqual([yield* levels([]), yield* levels(["--log-level", "error"])], [["WARN"], []])
    assert.includeMembers([...(yield* levels(["--log-level", "info"]))], ["INFO", "WARN"])
  })
})
