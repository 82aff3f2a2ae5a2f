/** The real Effect AI, over a provider on a socket that fails, with and without patience. */
import { assert, describe, it } from "@effect/vitest"
import { EventSink, type Provider, RetryStrategy, Toolbox, Turn, Checkpoint } from "@holdfast/kernel"
import { Profile, RetryStrategies } from "@holdfast/policy"
import { Http, OpenAiCompatible } from "@holdfast/providers"
import * as Undici from "@holdfast/providers/undici"
import * as SimulatedServer from "@holdfast/simulated/server"
import { Ids } from "@holdfast/wire"
import { Deferred, Effect, Fiber, Layer, Redacted, Schema, Stream } from "effect"
import { AiError, Chat, LanguageModel, Model, Prompt, Telemetry, Tool, Toolkit } from "effect/ai"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { holdfast, model, type PatienceOptions, provider, type Retry } from "../src/index.ts"

/** Waits of no length: no test takes time. */
const AT_ONCE = {
  schedule: { type: "steps", delays: Array.from({ length: 10 }, () => "0 millis"), tail: "1 millis" },
  maxRetries: 6,
  requestTimeout: { firstContent: "1 minute", idle: "1 minute" }
} as const

const TARGET = { provider: "simulated", model: "m" }

/** A language model of Effect AI at an address. */
const modelAt = (url: string, http: Layer.Layer<Http.Http> = Undici.layer) =>
  Layer.unwrap(
    Effect.map(OpenAiCompatible.make({ baseUrl: `${url}/v1`, apiKey: Redacted.make("none") }), (endpoint) =>
      model(endpoint, TARGET)
    )
  ).pipe(Layer.provide(http))

/** Requests whose first answer with status 200 succeeds `whole` once its client has read it to the end. */
const reading = (whole: Deferred.Deferred<void>): Layer.Layer<Http.Http> =>
  Layer.effect(
    Http.Http,
    Effect.map(Http.Http, ({ endpoint }) => ({
      endpoint: (url, headers) => {
        const post = endpoint(url, headers)
        return (body, { broken, data, end, head }) => {
          let status = 0
          return post(body, {
            broken,
            data,
            head: (given) => {
              status = given.status
              head(given)
            },
            end: () => {
              if (status === 200) Deferred.doneUnsafe(whole, Effect.void)
              end()
            }
          })
        }
      }
    }))
  ).pipe(Layer.provide(Undici.layer))

const serve = (script: string) => SimulatedServer.start({ script: `${script}+instant` })

const patientAt = (url: string, options: PatienceOptions = {}, http?: Layer.Layer<Http.Http>) =>
  holdfast(modelAt(url, http), { retry: AT_ONCE, ...options })

class Weather extends Schema.Class<Weather>("Weather")({ city: Schema.String }) {}

const toolkit = Toolkit.make(
  Tool.make("weather", {
    description: "The weather of a city.",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.String
  })
)

describe("a patient language model", () => {
  it.effect(
    "rule D4: streams one answer through a 529, an error in the stream, a stall and a cut, with its usage",
    () =>
      Effect.gen(function* () {
        const server = yield* serve("529,error-in-stream,stall,cut")
        const retries: Array<Retry> = []
        yield* Effect.forkChild(Effect.andThen(server.received(3), TestClock.adjust("1 minute")))
        const parts = yield* LanguageModel.streamText({ prompt: "Are you there?" }).pipe(
          Stream.runCollect,
          Effect.provide(patientAt(server.url, { onRetry: (retry) => void retries.push(retry) }))
        )
        assert.deepStrictEqual(
          retries.map(({ attempt, reason }) => [attempt, reason]),
          [
            [0, "overloaded"],
            [1, "overloaded"],
            [2, "timeout"],
            [3, "network"]
          ]
        )
        assert.strictEqual(parts.filter(({ type }) => type === "text-start").length, 1)
        const finish = parts.at(-1)
        assert.isTrue(finish?.type === "finish" && (finish.usage.outputTokens.total ?? 0) > 0)
        assert.strictEqual(server.count(), 5)
      })
  )

  it.live("gives none without patience", () =>
    Effect.gen(function* () {
      const server = yield* serve("529")
      const error = yield* LanguageModel.generateText({ prompt: "Are you there?" }).pipe(
        Effect.provide(modelAt(server.url)),
        Effect.flip
      )
      assert.isTrue(AiError.isAiError(error) && error.isRetryable)
      assert.strictEqual(server.count(), 1)
    })
  )

  it.live("rule D4: fails behind the text that it gave, and calls nothing again", () =>
    Effect.gen(function* () {
      const server = yield* serve("cut-after-2")
      const seen: Array<string> = []
      const error = yield* LanguageModel.streamText({ prompt: "Hello" }).pipe(
        Stream.runForEach((part) => Effect.sync(() => seen.push(part.type))),
        Effect.provide(patientAt(server.url)),
        Effect.flip
      )
      assert.isTrue(AiError.isAiError(error))
      assert.include(seen, "text-delta")
      assert.strictEqual(server.count(), 1)
    })
  )

  it.effect.each([true, false])("leaves tools to Effect AI, which runs each once (streamed: %s)", (isStreamed) =>
    Effect.gen(function* () {
      const server = yield* serve(`529,tool-call;name=weather;input={"city":"Bergen"},503`)
      let runs = 0
      const whole = yield* Deferred.make<void>()
      const handlers = toolkit.toLayer({
        // Longer than the limit on silence, which is the model's: its answer has ended by then.
        weather: ({ city }) =>
          Deferred.await(whole).pipe(Effect.andThen(TestClock.adjust("2 minutes")), Effect.as(`${city} ${++runs}`))
      })
      const text = yield* Effect.gen(function* () {
        const chat = yield* Chat.empty
        const ask = (prompt: Prompt.RawInput) =>
          isStreamed
            ? Effect.asVoid(Stream.runDrain(chat.streamText({ prompt, toolkit })))
            : Effect.asVoid(chat.generateText({ prompt, toolkit }))
        yield* ask("How is the weather?")
        yield* ask([])
        return JSON.stringify(yield* chat.export)
      }).pipe(Effect.provide([patientAt(server.url, {}, reading(whole)), handlers]))
      assert.strictEqual(runs, 1)
      assert.include(text, "Bergen 1")
      assert.strictEqual(server.count(), 4)
      assert.include(server.requests().at(-1)?.body, "Bergen 1")
    })
  )

  it.live("runs a tool that a person approved once, whatever fails after it", () =>
    Effect.gen(function* () {
      const server = yield* serve("529x2")
      let runs = 0
      const handlers = toolkit.toLayer({ weather: ({ city }) => Effect.sync(() => `${city} ${++runs}`) })
      const prompt = Prompt.make([
        { role: "user", content: "How is the weather?" },
        {
          role: "assistant",
          content: [
            { type: "tool-call", id: "call-1", name: "weather", params: { city: "Bergen" } },
            { type: "tool-approval-request", approvalId: "approval-1", toolCallId: "call-1" }
          ]
        },
        { role: "tool", content: [{ type: "tool-approval-response", approvalId: "approval-1", approved: true }] }
      ])
      const { text } = yield* LanguageModel.generateText({ prompt, toolkit }).pipe(
        Effect.provide([patientAt(server.url), handlers])
      )
      assert.notStrictEqual(text, "")
      assert.strictEqual(runs, 1)
      assert.strictEqual(server.count(), 3)
    })
  )

  it.live("gives the error of the last attempt as the model gave it, and makes no other call", () =>
    Effect.gen(function* () {
      const server = yield* serve("401x*")
      const error = yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.provide(patientAt(server.url)),
        Effect.flip
      )
      assert.strictEqual(AiError.isAiError(error) && error.reason._tag, "AuthenticationError")
      assert.strictEqual(server.count(), 1)
    })
  )

  it.live("keeps the names of a model, and hides no service from it", () =>
    Effect.gen(function* () {
      const server = yield* serve("529")
      const spans: Array<string> = []
      const transformer = Layer.succeed(Telemetry.CurrentSpanTransformer, ({ response }) => {
        spans.push(response.map(({ type }) => type).join())
      })
      const name = yield* LanguageModel.generateText({ prompt: "Hello" }).pipe(
        Effect.andThen(Model.ModelName),
        Effect.provide([patientAt(server.url), transformer])
      )
      assert.strictEqual(name, "m")
      assert.deepStrictEqual(spans, ["text,finish"])
    })
  )

  it.live("an interruption closes the connection", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const closed = yield* Deferred.make<void>()
      const server = createServer((request, response) => {
        request.resume()
        Deferred.doneUnsafe(asked, Effect.void)
        response.once("close", () => Deferred.doneUnsafe(closed, Effect.void))
      })
      yield* Effect.acquireRelease(
        Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
        () => Effect.sync(() => server.close())
      )
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const patient = holdfast(modelAt(url))
      const fiber = yield* Effect.forkChild(Effect.provide(LanguageModel.generateText({ prompt: "Hello" }), patient))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(closed)
    })
  )

  it("names what is wrong with its options", () => {
    assert.throws(() => patientAt("http://127.0.0.1", { retry: { maxRetries: -1 } }), /^retry: [^]*maxRetries/)
  })
})

describe("a language model as a provider", () => {
  it.live("answers a turn with tools through an outage", () =>
    Effect.gen(function* () {
      const server = yield* serve(`529,tool-call;name=weather;input={"city":"Bergen"},503`)
      const result = yield* Turn.runTurn({
        conversationId: Ids.ConversationId.make("c"),
        turnId: Ids.TurnId.make("t"),
        target: TARGET,
        history: [],
        prompt: "How is the weather?",
        system: "Be brief.",
        startedAt: 0
      }).pipe(
        Effect.provide(provider(modelAt(server.url))),
        Effect.provideService(
          RetryStrategy.RetryStrategy,
          RetryStrategies.make(Profile.resolve({ jitter: "none" }), () => Effect.succeed({ type: "elapsed" }))
        ),
        Effect.provideService(Toolbox.Toolbox, {
          definitions: [{ name: "weather", description: "The weather.", inputSchema: { type: "object" } }],
          run: ({ input }) => Effect.succeed({ output: input, isError: false })
        }),
        Effect.provideService(EventSink.EventSink, { live: () => {}, persist: () => Effect.void }),
        Effect.provide(Checkpoint.layerMemory)
      )
      assert.strictEqual(result.status, "completed")
      assert.strictEqual(server.count(), 4)
      const last = server.requests().at(-1)?.body ?? ""
      for (const part of ["Be brief.", "How is the weather?", "Bergen"]) assert.include(last, part)
    })
  )
})

describe("a provider as a language model", () => {
  it.live("asks for an object in words, and gives it", () =>
    Effect.gen(function* () {
      const answering: Provider.Provider["Service"] = {
        stream: ({ system }) =>
          Stream.make(
            { type: "text-delta" as const, delta: system?.includes('"city"') === true ? `{"city":` : "" },
            { type: "text-delta" as const, delta: `"Bergen"}` },
            { type: "finish" as const, finishReason: "stop" as const }
          )
      }
      for (const layer of [model(answering, TARGET), holdfast(model(answering, TARGET))]) {
        const { value } = yield* Effect.provide(
          LanguageModel.generateObject({ prompt: "Where does it rain?", schema: Weather }),
          layer
        )
        assert.deepStrictEqual(value, new Weather({ city: "Bergen" }))
      }
    })
  )

  it.effect("fails by name where a call of a tool is to be forced", () =>
    Effect.gen(function* () {
      const never: Provider.Provider["Service"] = { stream: () => Stream.die("It is not called.") }
      const error = yield* LanguageModel.generateText({ prompt: "Hello", toolkit, toolChoice: "required" }).pipe(
        Effect.provide([model(never, TARGET), toolkit.toLayer({ weather: () => Effect.die("It is not run.") })]),
        Effect.flip
      )
      assert.include(String(error), "toolChoice")
    })
  )
})
