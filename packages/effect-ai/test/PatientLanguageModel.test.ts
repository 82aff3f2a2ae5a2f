/** A patient model gives what the given one gives. Models here follow a script; those on a socket are in `LanguageModels.int.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, SchemaTransformation, Stream } from "effect"
import { AiError, LanguageModel, Prompt, type Response, ResponseIdTracker, Tool, Toolkit } from "effect/ai"
import * as TestClock from "effect/testing/TestClock"
import { holdfast } from "../src/index.ts"

/** Waits of no length. */
const AT_ONCE = { schedule: { type: "steps", delays: ["0 millis"], tail: "1 millis" }, maxRetries: 2 } as const

type Parts = ReadonlyArray<Response.StreamPartEncoded>

const finish: Response.FinishPartEncoded = {
  type: "finish",
  reason: "stop",
  usage: {
    inputTokens: { uncached: 1, total: 3, cacheRead: 2, cacheWrite: 0 },
    outputTokens: { total: 5, text: 4, reasoning: 1 }
  },
  response: undefined,
  metadata: { openai: { serviceTier: "flex" } }
}

const overloaded = AiError.make({
  module: "Test",
  method: "streamText",
  reason: new AiError.InternalProviderError({ description: "Overloaded" })
})

/** A model whose nth call gives the nth script. */
const scripted = (
  scripts: ReadonlyArray<Parts | AiError.AiError>,
  asked: Array<LanguageModel.ProviderOptions> = [],
  codecTransformer: LanguageModel.CodecTransformer = LanguageModel.defaultCodecTransformer
) => {
  const next = (options: LanguageModel.ProviderOptions) => {
    const script = scripts[asked.push(options) - 1] ?? overloaded
    return AiError.isAiError(script) ? Effect.fail(script) : Effect.succeed(script)
  }
  return Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      codecTransformer,
      generateText: (options) => Effect.map(next(options), (parts) => [...parts] as Array<Response.PartEncoded>),
      streamText: (options) => Stream.unwrap(Effect.map(next(options), (parts) => Stream.fromIterable(parts)))
    })
  )
}

const patient = (...args: Parameters<typeof scripted>) => holdfast(scripted(...args), { retry: AT_ONCE })

const search = Tool.providerDefined({
  id: "test.search",
  customName: "Search",
  providerName: "search",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Struct({ found: Schema.NumberFromString })
})()
const weather = Tool.make("weather", {
  parameters: Schema.Struct({ day: Schema.NumberFromString }),
  success: Schema.String
})
const toolkit = Toolkit.make(search, weather)
const handlers = toolkit.toLayer({ weather: ({ day }) => Effect.succeed(`rain on day ${day + 1}`) })

const EVERYTHING: Parts = [
  { type: "response-metadata", id: "r1", modelId: "m", timestamp: "2026-11-22T00:00:00.000Z" },
  { type: "reasoning-start", id: "1", metadata: { anthropic: { info: { type: "thinking", signature: "s" } } } },
  { type: "reasoning-delta", id: "1", delta: "Well" },
  { type: "reasoning-end", id: "1" },
  { type: "text-start", id: "2" },
  { type: "text-delta", id: "2", delta: "It rains", metadata: { openai: { itemId: "i" } } },
  { type: "text-end", id: "2" },
  { type: "file", mediaType: "image/png", data: "AAEC" },
  { type: "source", sourceType: "url", id: "s1", url: "https://example.com/a", title: "A" },
  { type: "tool-call", id: "c1", name: "Search", params: { query: "rain" }, providerExecuted: true },
  { type: "tool-result", id: "c1", name: "Search", result: { found: "3" }, isFailure: false, providerExecuted: true },
  { type: "tool-params-start", id: "c2", name: "weather" },
  { type: "tool-params-delta", id: "c2", delta: `{"day":"1"}` },
  { type: "tool-params-end", id: "c2" },
  { type: "tool-call", id: "c2", name: "weather", params: { day: "1" } },
  finish
]

describe("a patient language model", () => {
  it.effect("streams every part that the given one streams, with its metadata", () =>
    Effect.gen(function* () {
      const streamed = LanguageModel.streamText({ prompt: "Hello", toolkit }).pipe(
        Stream.runCollect,
        Effect.provide(handlers)
      )
      const bare = yield* Effect.provide(streamed, scripted([EVERYTHING]))
      assert.strictEqual(bare.length, EVERYTHING.length + 1)
      assert.deepStrictEqual(yield* Effect.provide(streamed, patient([overloaded, EVERYTHING])), bare)
    })
  )

  it.effect("gives every part of a whole response, and asks for it with what was asked for", () =>
    Effect.gen(function* () {
      const whole: Parts = EVERYTHING.filter(({ type }) => !/-(start|delta|end)$/.test(type))
      const prompt = Prompt.make([
        { role: "system", content: "Be brief.", options: { anthropic: { cacheControl: "ephemeral" } } },
        { role: "user", content: [{ type: "file", mediaType: "image/png", data: new Uint8Array([1, 2]) }] }
      ])
      const generated = LanguageModel.generateText({ prompt, toolkit, toolChoice: "required" }).pipe(
        Effect.provide(handlers)
      )
      const askedBare: Array<LanguageModel.ProviderOptions> = []
      const asked: Array<LanguageModel.ProviderOptions> = []
      const bare = yield* Effect.provide(generated, scripted([whole], askedBare))
      const response = yield* Effect.provide(generated, patient([overloaded, whole], asked))
      assert.deepStrictEqual(response.content, bare.content)
      assert.deepStrictEqual(response.usage, bare.usage)
      for (const key of ["prompt", "tools", "toolChoice", "responseFormat"] as const)
        assert.deepStrictEqual(asked[1]?.[key], askedBare[0]?.[key])
    })
  )

  it.effect("takes an object by the provider's own form of its schema", () =>
    Effect.gen(function* () {
      // Asks for the text of the object in capitals, as providers ask for their own forms of schemas.
      const inCapitals: LanguageModel.CodecTransformer = (schema) => ({
        codec: Schema.Struct({ CITY: Schema.String }).pipe(
          Schema.decodeTo(
            schema as never,
            SchemaTransformation.transform({
              decode: ({ CITY }) => ({ city: CITY }) as never,
              encode: () => ({ CITY: "" })
            })
          )
        ) as never,
        jsonSchema: {}
      })
      const script: Parts = [{ type: "text", text: `{"CITY":"Bergen"}` } as never, finish]
      const schema = Schema.Struct({ city: Schema.String })
      const { text, value } = yield* LanguageModel.generateObject({
        prompt: "Where?",
        schema,
        objectName: "place"
      }).pipe(Effect.provide(patient([overloaded, script], [], inCapitals)))
      assert.deepStrictEqual([value, text], [{ city: "Bergen" }, `{"CITY":"Bergen"}`])
    })
  )

  it.effect("rule C3: an error part is retried before content, and comes as it is behind it", () =>
    Effect.gen(function* () {
      const error: Response.StreamPartEncoded = {
        type: "error",
        error: { type: "overloaded_error", message: "Overloaded" }
      }
      const text: Parts = [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "It" }
      ]
      const parts = yield* LanguageModel.streamText({ prompt: "Hello" }).pipe(
        Stream.runCollect,
        Effect.provide(patient([[error], [...text, error]]))
      )
      assert.deepStrictEqual(
        parts.map(({ type }) => type),
        ["text-start", "text-delta", "error"]
      )
    })
  )

  it.effect(
    "rule C6: a stream without a finish is retried before content, and fails behind it as an error of Effect AI",
    () =>
      Effect.gen(function* () {
        const cut: Parts = [{ type: "text-start", id: "1" }]
        const error = yield* LanguageModel.streamText({ prompt: "Hello" }).pipe(
          Stream.runDrain,
          Effect.provide(patient([cut, [...cut, { type: "text-delta", id: "1", delta: "It" }]])),
          Effect.flip
        )
        assert.include(String(error), "ended before it was finished")
        assert.isTrue(AiError.isAiError(error))
      })
  )

  it.effect("a call of a tool that was not offered fails as it does without patience, unless it is checked later", () =>
    Effect.gen(function* () {
      const script: Parts = [{ type: "tool-call", id: "c", name: "unknown", params: { a: 1 } }, finish]
      const error = yield* LanguageModel.generateText({ prompt: "Hello", toolkit }).pipe(
        Effect.provide([patient([script]), handlers]),
        Effect.flip
      )
      assert.strictEqual(AiError.isAiError(error) && error.reason._tag, "ToolNotFoundError")
      const { toolCalls } = yield* LanguageModel.generateText({
        prompt: "Hello",
        disableToolCallResolution: true,
        toolCallValidation: "deferred"
      }).pipe(Effect.provide(patient([script])))
      assert.deepStrictEqual(
        toolCalls.map(({ params }) => params),
        [{ a: 1 }]
      )
    })
  )

  it.effect("rule C8: no limit on silence counts the time of a tool", () =>
    Effect.gen(function* () {
      const script: Parts = [{ type: "tool-call", id: "c", name: "weather", params: { day: "1" } }, finish]
      const slow = toolkit.toLayer({ weather: () => Effect.as(TestClock.adjust("1 hour"), "rain") })
      const layer = holdfast(scripted([script]), {
        retry: { ...AT_ONCE, requestTimeout: { firstContent: "1 minute", idle: "1 minute" } }
      })
      const parts = yield* LanguageModel.streamText({ prompt: "Hello", toolkit }).pipe(
        Stream.runCollect,
        Effect.provide([layer, slow])
      )
      assert.deepStrictEqual(
        parts.map(({ type }) => type),
        ["tool-call", "tool-result", "finish"]
      )
    })
  )

  it.effect("keeps incremental requests", () =>
    Effect.gen(function* () {
      const asked: Array<LanguageModel.ProviderOptions> = []
      const metadata: Response.StreamPartEncoded = {
        type: "response-metadata",
        id: "r1",
        modelId: "m",
        timestamp: undefined
      }
      const script: Parts = [metadata, { type: "text", text: "Hello." } as never, finish]
      yield* Effect.gen(function* () {
        const first = Prompt.make("Hello")
        const { content } = yield* LanguageModel.generateText({ prompt: first })
        const second = Prompt.concat(Prompt.concat(first, Prompt.fromResponseParts(content)), "And now?")
        yield* LanguageModel.generateText({ prompt: second })
      }).pipe(
        Effect.provide(patient([script, overloaded, script], asked)),
        Effect.provideServiceEffect(ResponseIdTracker.ResponseIdTracker, ResponseIdTracker.make)
      )
      assert.deepStrictEqual(
        asked.map(({ incrementalPrompt, previousResponseId }) => [
          previousResponseId,
          incrementalPrompt?.content.length
        ]),
        [
          [undefined, undefined],
          ["r1", 1],
          ["r1", 1]
        ]
      )
    })
  )

  it.effect("rule D8: a signal that aborts interrupts the wait", () =>
    Effect.gen(function* () {
      const controller = new AbortController()
      const layer = holdfast(scripted([overloaded]), { onRetry: () => controller.abort(), signal: controller.signal })
      const exit = yield* Effect.exit(Effect.provide(LanguageModel.generateText({ prompt: "Hello" }), layer))
      assert.include(String(exit), "Interrupt")
    })
  )
})
