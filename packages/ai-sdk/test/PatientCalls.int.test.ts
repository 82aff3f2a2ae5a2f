/** The real AI SDK, over a provider on a socket that fails, with and without the middleware. */
import { createOpenAI } from "@ai-sdk/openai"
import { generateText, jsonSchema, stepCountIs, streamText, tool, wrapLanguageModel } from "ai"
import { afterEach, assert, describe, it, vi } from "vitest"
import { holdfast as library, memoryStore } from "holdfast"
import { CallParked, holdfast, model as modelOf, type Retry } from "../src/index.ts"
import { type Answer, listen, type Scripted } from "./Scripted.ts"

let server: Scripted | undefined
afterEach(() => server?.close())

/** Waits of no length: no test takes time. */
const AT_ONCE = {
  schedule: { type: "steps", delays: Array.from({ length: 10 }, () => "0 millis"), tail: "1 millis" },
  maxRetries: 6
} as const

const openai = async (script: ReadonlyArray<Answer>) => {
  server = await listen(script)
  return createOpenAI({ baseURL: server.url, apiKey: "key" }).chat("m")
}

const patient = async (
  script: ReadonlyArray<Answer>,
  retries: Array<Retry> = [],
  limits: { readonly requestTimeout?: { readonly firstContent: string; readonly idle: string } } = {}
) =>
  wrapLanguageModel({
    model: await openai(script),
    middleware: holdfast({ retry: { ...AT_ONCE, ...limits }, onRetry: (retry) => void retries.push(retry) })
  })

/** Runs a test with one stall. Where a limit ended an answer too, because the machine was too slow for it, runs it again with a longer one. */
const withLimit = async <A extends { readonly retries: ReadonlyArray<Retry> }>(
  test: (requestTimeout: { readonly firstContent: string; readonly idle: string }) => Promise<A>
): Promise<A> => {
  for (const limit of ["200 millis", "2 seconds"]) {
    const seen = await test({ firstContent: limit, idle: limit })
    if (seen.retries.filter(({ reason }) => reason === "timeout").length === 1) return seen
    await server?.close()
  }
  return test({ firstContent: "20 seconds", idle: "20 seconds" })
}

const onceFailing = async (answer: Answer) =>
  wrapLanguageModel({ model: await openai([answer]), middleware: holdfast({ retry: { maxRetries: 0 } }) })

describe("streamText", () => {
  it("rule D4: gives one answer through a 529, an error in the stream, a stall and a cut", async () => {
    const answer = { text: ["Still ", "here."] }
    const { finish, retries, text } = await withLimit(async (requestTimeout) => {
      const retries: Array<Retry> = []
      const script: ReadonlyArray<Answer> = [529, { error: "Overloaded" }, "stall", { cut: [] }, answer, answer, answer]
      const model = await patient(script, retries, { requestTimeout })
      const { finishReason, textStream } = streamText({ model, prompt: "Are you there?", maxRetries: 0 })
      const texts: Array<string> = []
      for await (const text of textStream) texts.push(text)
      return { finish: await finishReason, retries, text: texts.join("") }
    })
    assert.deepStrictEqual([text, finish], ["Still here.", "stop"])
    assert.strictEqual(server?.requests.length, 5)
    assert.deepStrictEqual(
      retries.map(({ attempt }) => attempt),
      [0, 1, 2, 3]
    )
    assert.strictEqual(retries[2]?.reason, "timeout")
  })

  it("rule C6: a response without its terminal event has failed, though the AI SDK gives it a finish", async () => {
    const model = await patient([{ ended: [] }, { text: ["Still here."] }, { ended: ["Half "] }])
    assert.strictEqual(await streamText({ model, prompt: "Are you there?" }).text, "Still here.")
    const errors: Array<unknown> = []
    const { fullStream } = streamText({ model, prompt: "Hello", onError: ({ error }) => void errors.push(error) })
    try {
      for await (const part of fullStream) if (part.type === "error") errors.push(part.error)
    } catch (error) {
      errors.push(error)
    }
    assert.match(String(errors[0]), /ended before it was finished/)
    assert.strictEqual(server?.requests.length, 3)
  })

  it("gives none without the middleware, where the retries of the AI SDK are used up", async () => {
    const errors: Array<unknown> = []
    const { textStream } = streamText({
      model: await openai([529, { text: ["Still here."] }]),
      prompt: "Are you there?",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error)
    })
    for await (const _ of textStream) assert.fail("there is no text")
    assert.strictEqual(errors.length, 1)
    assert.strictEqual(server?.requests.length, 1)
  })

  it("rule D4: fails behind the text that it gave, and calls nothing again", async () => {
    const errors: Array<unknown> = []
    const model = await patient([{ cut: ["Half "] }, { text: ["Never"] }])
    const { textStream } = streamText({ model, prompt: "Hello", onError: ({ error }) => void errors.push(error) })
    const texts: Array<string> = []
    try {
      for await (const text of textStream) texts.push(text)
    } catch (error) {
      errors.push(error)
    }
    assert.strictEqual(texts.join(""), "Half ")
    assert.isAbove(errors.length, 0)
    assert.strictEqual(server?.requests.length, 1)
  })

  it("leaves tools to the AI SDK, which runs each once", async () => {
    let runs = 0
    const model = await patient([
      529,
      { tool: { name: "weather", input: { city: "Bergen" } } },
      503,
      { text: ["Rain."] }
    ])
    const { text } = streamText({
      model,
      prompt: "How is the weather?",
      stopWhen: stepCountIs(3),
      tools: {
        weather: tool({
          inputSchema: jsonSchema<{ readonly city: string }>({
            type: "object",
            properties: { city: { type: "string" } }
          }),
          execute: ({ city }) => `${city} ${++runs}`
        })
      }
    })
    assert.strictEqual(await text, "Rain.")
    assert.strictEqual(runs, 1)
    assert.include(JSON.stringify(server?.requests.at(-1)?.messages), "Bergen 1")
  })

  it("the AI SDK makes no further call for an error that was given up", async () => {
    const errors: Array<unknown> = []
    const model = await patient([401, { text: ["Never"] }])
    const { textStream } = streamText({ model, prompt: "Hello", onError: ({ error }) => void errors.push(error) })
    for await (const _ of textStream) assert.fail("there is no text")
    assert.strictEqual(server?.requests.length, 1)
    assert.deepInclude(errors[0], { statusCode: 401, isRetryable: false })
  })

  it("rule C9: streamRetries of the AI SDK makes no further call before content, nor behind it", async () => {
    for (const answer of [{ error: "Overloaded" }, { error: "Overloaded", behind: "Half " }, { cut: ["Half "] }]) {
      const { textStream } = streamText({
        model: await onceFailing(answer),
        prompt: "Hello",
        maxRetries: 5,
        streamRetries: 5,
        onError: () => {}
      })
      const texts: Array<string> = []
      try {
        for await (const text of textStream) texts.push(text)
      } catch {
        // A stream that breaks off fails its readers.
      }
      assert.strictEqual(texts.join(""), "behind" in answer || "cut" in answer ? "Half " : "")
      assert.strictEqual(server?.requests.length, 1)
      await server?.close()
    }
    server = undefined
  })

  it("an error in the stream that is given up reaches the caller as it came", async () => {
    const errors: Array<unknown> = []
    const { textStream } = streamText({
      model: await onceFailing({ error: "Overloaded" }),
      prompt: "Hello",
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error)
    })
    for await (const _ of textStream) assert.fail("there is no text")
    assert.include(String(errors[0]), "Overloaded")
    assert.notInclude(String(errors[0]), "CallEnded")
  })

  it("an aborted signal ends a wait", async () => {
    const controller = new AbortController()
    const middleware = holdfast({ onRetry: () => controller.abort() })
    const model = wrapLanguageModel({ model: await openai([529]), middleware })
    const { fullStream } = streamText({ model, prompt: "Hello", abortSignal: controller.signal, onError: () => {} })
    const types: Array<string> = []
    for await (const { type } of fullStream) types.push(type)
    assert.include(types, "abort")
    assert.strictEqual(server?.requests.length, 1)
  })
})

describe("generateText", () => {
  it("answers through an outage", async () => {
    const model = await patient([529, 503, { text: ["Still here."] }])
    const { text } = await generateText({ model, prompt: "Are you there?", maxRetries: 0 })
    assert.strictEqual(text, "Still here.")
    assert.strictEqual(server?.requests.length, 3)
  })
})

describe("with park", () => {
  afterEach(() => void vi.useRealTimers())

  it("a wait ends the call, and the same call made again goes on, by generateText and streamText", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    const store = memoryStore()
    const hourly = { schedule: { type: "steps", delays: ["1 hour"], tail: "1 hour" } } as const
    const model = wrapLanguageModel({
      model: await openai([529, 503, { text: ["Still here."] }, { text: ["Another."] }]),
      middleware: holdfast({ retry: hourly, park: { store } })
    })
    const errors: Array<unknown> = []
    const stream = async (prompt: string): Promise<string> => {
      const { textStream } = streamText({
        model,
        prompt,
        temperature: 0.5,
        onError: ({ error }) => void errors.push(error)
      })
      let text = ""
      for await (const delta of textStream) text += delta
      return text
    }
    const parkedAt = Date.now()
    assert.strictEqual(await stream("Are you there?"), "")
    assert.strictEqual(await stream("Are you there?"), "")
    assert.strictEqual(server?.requests.length, 1)
    const [first] = errors
    assert.instanceOf(first, CallParked)
    assert.isAtLeast(first.retryAt.getTime(), parkedAt + 3_600_000)
    vi.setSystemTime(first.retryAt)
    const again = await generateText({ model, prompt: "Are you there?", temperature: 0.5 }).catch(
      (error: unknown) => error
    )
    assert.instanceOf(again, CallParked)
    assert.strictEqual(server?.requests.length, 2)
    vi.setSystemTime(again.retryAt)
    assert.strictEqual(await stream("Are you there?"), "Still here.")
    assert.deepStrictEqual(
      Array.from(await store.list("call/"), ([, value]) => value),
      [""]
    )
    assert.strictEqual(await stream("Another one?"), "Another.")
    assert.strictEqual(server?.requests.length, 4)
  })
})

describe("a model of the AI SDK", () => {
  it("answers a turn of the library, with tools, through an outage", async () => {
    const languageModel = await openai([
      529,
      { ended: [] },
      { tool: { name: "weather", input: { city: "Bergen" } } },
      { text: ["Rain."] }
    ])
    const hf = library({
      model: modelOf(languageModel),
      retry: AT_ONCE,
      tools: { weather: { execute: (input: { readonly city: string }) => `rain in ${input.city}` } }
    })
    const result = await hf.turn("How is the weather?", { system: "Be brief." }).result
    assert.deepInclude(result, { status: "completed", text: "Rain.", attempts: 4 })
    const last = JSON.stringify(server?.requests.at(-1)?.messages)
    for (const part of ["Be brief.", "How is the weather?", "rain in Bergen"]) assert.include(last, part)
  })
})

it("names what is wrong with its options", () => {
  assert.throws(() => holdfast({ retry: { maxRetries: -1 } }), /^retry: [^]*maxRetries/)
})
