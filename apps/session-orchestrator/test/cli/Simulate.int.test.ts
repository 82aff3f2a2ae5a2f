/** Tests `holdfast simulate` with real requests. What its server answers is tested in `simulated`. */
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

const post = (url: string, model: string) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ model, stream: true, max_tokens: 99, messages: [{ role: "user", content: "Hello" }] })
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    return { status: response.status, retryAfter: response.headers.get("retry-after"), text: await response.text() }
  })

describe("holdfast simulate", () => {
  It.live("an OpenAI-compatible client with any model name meets the script, then gets an answer", function* () {
    const { stdout, stop, url } = yield* started("429;retry-after=7,503+instant")
    expect(stdout()).toContain("Each turn meets a 429 (rate limit, retry-after: 7), then a 503")
    expect(stdout()).toContain(`OPENAI_BASE_URL=${url}/v1\n`)
    expect(stdout()).toContain(`ANTHROPIC_BASE_URL=${url}\n`)
    const ask = post(`${url}/v1/chat/completions`, "gpt-5")
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

  It.live("a model name with the prefix simulated/ is its own script", function* () {
    const { stop, url } = yield* started("ok+instant")
    expect(yield* post(`${url}/v1/messages`, "simulated/auth")).toMatchObject({ status: 401 })
    expect(yield* post(`${url}/v1/messages`, "simulated/nonsense")).toMatchObject({ status: 404 })
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
