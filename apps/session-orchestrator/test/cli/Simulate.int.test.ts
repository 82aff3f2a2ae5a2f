/** Tests `holdfast simulate` with real requests, in both formats. */
import { describe, expect } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { ExitCode, Refused } from "../../src/cli/Ended.ts"
import * as Signals from "../../src/cli/Signals.ts"
import * as Simulate from "../../src/cli/Simulate.ts"
import * as Terminal from "../../src/cli/terminal/Terminal.ts"
import * as Recorder from "./Recorder.ts"
import * as It from "../It.ts"

/** Starts the command with a script; `stop` sends the signal and returns the command's end. */
const started = Effect.fnUntraced(function* (script: string, port = 0, isScreen = false) {
  const recorder = Recorder.make({ stdout: false, stderr: isScreen })
  const signal = yield* Deferred.make<NodeJS.Signals>()
  const isListening = yield* Deferred.make<void>()
  const terminal: Terminal.Terminal["Service"] = {
    ...recorder.terminal,
    stdout: (text) => {
      recorder.terminal.stdout(text)
      Deferred.doneUnsafe(isListening, Effect.void)
    }
  }
  const command = yield* Simulate.serve({ script, host: "127.0.0.1", port }).pipe(
    Effect.provideService(Terminal.Terminal, terminal),
    Effect.provideService(Signals.Signals, { first: Deferred.await(signal) }),
    Effect.forkChild
  )
  yield* Effect.raceFirst(Deferred.await(isListening), Fiber.join(command))
  return {
    url: /http:\/\/127\.0\.0\.1:\d+/.exec(recorder.stdout())?.[0] ?? "",
    stdout: recorder.stdout,
    stderr: recorder.stderr,
    stop: Effect.andThen(Deferred.succeed(signal, "SIGINT"), Fiber.await(command))
  }
})

const post = (url: string, model: string, stream: boolean) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ model, stream, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] })
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    const retryAfter = response.headers.get("retry-after")
    // A cut connection breaks the body.
    const text = await response.text().catch(() => "(broken)")
    return { status: response.status, retryAfter, text }
  })

describe("holdfast simulate", () => {
  It.live("an OpenAI-compatible client with any model name meets the script, then gets an answer", function* () {
    const { stdout, stop, url } = yield* started("429;retry-after=7,503+instant")
    expect(stdout()).toContain("Each turn meets a 429 (rate limit, retry-after: 7), then a 503")
    expect(stdout()).toContain(`OPENAI_BASE_URL=${url}/v1\n`)
    const ask = post(`${url}/v1/chat/completions`, "gpt-5", true)
    expect(yield* ask).toMatchObject({ status: 429, retryAfter: "7" })
    expect(yield* ask).toMatchObject({ status: 503 })
    const answer = yield* ask
    expect(answer.status).toBe(200)
    expect(answer.text).toMatch(/^data: .*data: \[DONE\]\n\n$/s)
    expect(stdout()).toContain(
      'request 1, model "gpt-5": a 429 (rate limit, retry-after: 7)\n' +
        'request 2, model "gpt-5": a 503 (service unavailable)\n' +
        'request 3, model "gpt-5": an answer\n'
    )
    expect(Exit.isSuccess(yield* stop)).toBe(true)
  })

  It.live("an Anthropic client gets Anthropic's errors and frames", function* () {
    const { stdout, stop, url } = yield* started("overloaded,cut-after-3+instant")
    expect(stdout()).toContain(`ANTHROPIC_BASE_URL=${url}\n`)
    const ask = post(`${url}/v1/messages`, "claude-sonnet-4-5", true)
    const overloaded = yield* ask
    expect(overloaded.status).toBe(529)
    expect(JSON.parse(overloaded.text)).toMatchObject({ type: "error", error: { type: "overloaded_error" } })
    expect(yield* ask).toMatchObject({ status: 200, text: "(broken)" })
    expect((yield* ask).text).toContain("event: message_stop\n")
    yield* stop
  })

  It.live("a client without streaming gets one document", function* () {
    const { stop, url } = yield* started("ok+instant")
    const answer = yield* post(`${url}/v1/chat/completions`, "any", false)
    expect(JSON.parse(answer.text)).toMatchObject({ choices: [{ finish_reason: "stop" }] })
    yield* stop
  })

  It.live("a model name with the prefix simulated/ is its own script", function* () {
    const { stop, url } = yield* started("ok+instant")
    expect(yield* post(`${url}/v1/messages`, "simulated/auth", true)).toMatchObject({ status: 401 })
    expect(yield* post(`${url}/v1/messages`, "simulated/nonsense", true)).toMatchObject({ status: 404 })
    yield* stop
  })

  It.live("the provider no longer listens after the signal", function* () {
    const { stop, url } = yield* started("ok")
    yield* stop
    expect(Exit.isFailure(yield* Effect.exit(Effect.tryPromise(() => fetch(`${url}/v1/models`))))).toBe(true)
  })

  It.live("ends on a line of its own behind the ^C of a terminal, and writes nothing into a file", function* () {
    for (const isScreen of [true, false]) {
      const { stderr, stop } = yield* started("ok", 0, isScreen)
      yield* stop
      expect(stderr()).toBe(isScreen ? "\n" : "")
    }
  })

  It.live("an invalid script is rejected with the valid parts, before the provider listens", function* () {
    const refused = yield* Effect.flip(started("nonsense"))
    expect(refused).toBeInstanceOf(Refused)
    expect(refused.exitCode).toBe(ExitCode.USAGE)
    expect(refused.message).toMatch(/^--script: .*"nonsense".*Valid parts/s)
  })

  It.live("a port in use is reported with the port and the remedy", function* () {
    const { stop, url } = yield* started("ok")
    const port = Number(new URL(url).port)
    const refused = yield* Effect.flip(started("ok", port))
    expect(refused.exitCode).toBe(ExitCode.FAILED)
    expect(refused.message).toContain(`cannot listen on 127.0.0.1, port ${port}: listen EADDRINUSE`)
    expect(refused.message).toContain("--port N")
    yield* stop
  })
})
