/** The real LangChain, over a provider on a socket that fails, with and without patience. */
import { holdfast, type Retry } from "@holdfast/langchain"
import { getRetryable } from "@langchain/core/errors"
import { tool } from "@langchain/core/tools"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { ChatOpenAI, type ChatOpenAIFields } from "@langchain/openai"
import { createAgent, modelRetryMiddleware } from "langchain"
import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { z } from "zod"
import { AT_ONCE, silentProvider, withProvider } from "./provider.mts"

const OUTAGE = "529,error-in-stream,stall,cut"
const REASONS = ["overloaded", "overloaded", "timeout", "network"]

const bare = (baseURL: string, fields: ChatOpenAIFields = {}) =>
  new ChatOpenAI({ model: "m", apiKey: "none", configuration: { baseURL }, ...fields })

const patient = (baseURL: string, retries: Array<Retry> = [], maxRetries = 6) =>
  holdfast(bare(baseURL), { retry: { ...AT_ONCE, maxRetries }, onRetry: (retry) => void retries.push(retry) })

const weatherTool = (onRun: () => void) =>
  tool(
    ({ city }) => {
      onRun()
      return `It rains in ${city}`
    },
    { name: "weather", description: "The weather of a city.", schema: z.object({ city: z.string() }) }
  )

describe("LangChain", () => {
  it("rule D4: streams one answer through a 529, an error in the stream, a stall and a cut, with its usage", () =>
    withProvider(OUTAGE, async (url, requests) => {
      const retries: Array<Retry> = []
      const tokens: Array<string> = []
      const stream = await patient(url, retries).stream("Are you there?", {
        callbacks: [{ handleLLMNewToken: (token) => void tokens.push(token) }]
      })
      let whole
      for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk)
      assert.ok(whole)
      assert.notEqual(whole.text, "")
      assert.equal(tokens.join(""), whole.text)
      assert.equal(tokens.filter((token) => token === "").length, 3, "one beginning, one end, one usage")
      assert.equal(requests().length, 5)
      assert.deepEqual(
        retries.map(({ reason }) => reason),
        REASONS
      )
      assert.ok((whole.usage_metadata?.output_tokens ?? 0) > 0)
      assert.equal(whole.response_metadata["finish_reason"], "stop")
      assert.equal(whole.response_metadata["model_name"], "m")
    }))

  it("rule D4: the same for its stream of events", () =>
    withProvider(OUTAGE, async (url, requests) => {
      const events: Array<string> = []
      for await (const event of patient(url).streamEvents("Are you there?")) events.push(event.event)
      assert.equal(events.filter((event) => event === "message-start").length, 1)
      assert.equal(events.at(-1), "message-finish")
      assert.equal(requests().length, 5)
    }))

  it("rule D4: the same for an invocation, with its usage and metadata", () =>
    withProvider("529,stall,503", async (url, requests) => {
      const retries: Array<Retry> = []
      const message = await patient(url, retries).invoke("Are you there?")
      assert.notEqual(message.text, "")
      assert.ok((message.usage_metadata?.input_tokens ?? 0) > 0)
      assert.equal(message.response_metadata["finish_reason"], "stop")
      assert.equal(requests().length, 4)
    }))

  it("rule D4: nothing is called again when callbacks have tokens of a model that streams its invocations", () =>
    withProvider("cut-after-2", async (url, requests) => {
      const model = bare(url, { streaming: true })
      const tokens: Array<string> = []
      const callbacks = [{ handleLLMNewToken: (token: string) => void tokens.push(token) }]
      await assert.rejects(holdfast(model, { retry: AT_ONCE }).invoke("Hello", { callbacks }))
      assert.notEqual(tokens.join(""), "")
      assert.equal(requests().length, 1)
    }))

  for (const events of [false, true])
    it(`rule C6: a stream that ends without a finish reason has failed, behind its text (${events ? "events" : "chunks"})`, () =>
      withProvider("ends-after-2", async (url, requests) => {
        const model = patient(url)
        const seen: Array<unknown> = []
        await assert.rejects(async () => {
          if (events) for await (const event of model.streamEvents("Hello")) seen.push(event.event)
          else for await (const { text } of await model.stream("Hello")) seen.push(text)
        }, /ended before it was finished/)
        assert.ok(seen.length > 1)
        assert.ok(!seen.includes("message-finish"))
        assert.equal(requests().length, 1)
      }))

  it("leaves tools to an agent, which runs each once", () =>
    withProvider(`529,tool-call;name=weather;input={"city":"Bergen"},503`, async (url, requests) => {
      let runs = 0
      const agent = createAgent({ model: patient(url), tools: [weatherTool(() => runs++)] })
      const { messages } = await agent.invoke({ messages: [{ role: "user", content: "How is the weather?" }] })
      assert.notEqual(messages.at(-1)?.text, "")
      assert.equal(runs, 1)
      assert.equal(requests().length, 4)
      assert.match(requests().at(-1) ?? "", /It rains in Bergen/)
    }))

  it("keeps tools and structured output patient", () =>
    withProvider(`529,tool-call;name=extract;input={"city":"Bergen"}`, async (url, requests) => {
      const structured = patient(url).withStructuredOutput(z.object({ city: z.string() }), {
        name: "extract",
        method: "functionCalling"
      })
      assert.deepEqual(await structured.invoke("Where does it rain?"), { city: "Bergen" })
      assert.equal(requests().length, 2)
    }))

  it("rule C9: there is one patience, under the model and above it", () =>
    withProvider("500x*", async (url, requests) => {
      const again = modelRetryMiddleware({ maxRetries: 3, initialDelayMs: 1, onFailure: "error" })
      const agent = createAgent({ model: patient(url, [], 2), tools: [], middleware: [again] })
      await assert.rejects(agent.invoke({ messages: [{ role: "user", content: "Hello" }] }))
      assert.equal(requests().length, 3)
      await assert.rejects(patient(url, [], 2).invoke("Hello", { maxRetries: 5 }))
      assert.equal(requests().length, 6)
    }))

  it("rule C9: without it LangChain makes the retries that it was told to", () =>
    withProvider("500x2", async (url, requests) => {
      await assert.rejects(bare(url, { maxRetries: 1 }).invoke("Hello"))
      assert.equal(requests().length, 2)
    }))

  it("gives an error that is not retried at once, as it was thrown, and marked", () =>
    withProvider("401x*", async (url, requests) => {
      const error: unknown = await patient(url)
        .invoke("Hello")
        .catch((error: unknown) => error)
      assert.equal((error as { readonly status?: number }).status, 401)
      assert.equal(getRetryable(error), false)
      assert.equal(requests().length, 1)
    }))

  for (const isStreamed of [true, false])
    it(`an abort closes the connection (${isStreamed ? "streamed" : "not streamed"})`, async () => {
      const provider = await silentProvider()
      const controller = new AbortController()
      const { signal } = controller
      const ask = async () => {
        const model = holdfast(bare(provider.url))
        if (isStreamed) for await (const _ of await model.stream("Hello", { signal })) continue
        else await model.invoke("Hello", { signal })
      }
      const ended = ask().catch((error: unknown) => error)
      await provider.asked
      controller.abort()
      await provider.closed
      assert.equal(((await ended) as Error).name, "AbortError")
      provider.close()
    })

  for (const isStreamed of [true, false])
    it(`rule C8: a silence closes the connection (${isStreamed ? "streamed" : "not streamed"})`, async () => {
      const provider = await silentProvider()
      const model = holdfast(bare(provider.url), {
        retry: { maxRetries: 0, requestTimeout: { firstContent: "50 millis" } }
      })
      const ask = async () => {
        if (isStreamed) for await (const _ of await model.stream("Hello")) continue
        else await model.invoke("Hello")
      }
      // On a slow machine the time may be over before the request is sent.
      try {
        do await assert.rejects(ask, /TimeoutError: No content within 50 ms/)
        while (!provider.isAsked())
        await provider.closed
      } finally {
        provider.close()
      }
    })

  it("keeps a model that cannot stream, and a model that reports no end", async () => {
    const model = holdfast(new FakeListChatModel({ responses: ["Still here."] }), { retry: AT_ONCE })
    assert.equal((await model.invoke("Hello")).text, "Still here.")
    let text = ""
    for await (const chunk of await model.stream("Hello")) text += chunk.text
    assert.equal(text, "Still here.")
  })

  it("names what is wrong with its options", () => {
    const wrong = { retry: { maxRetries: -1 } }
    assert.throws(() => holdfast(bare("http://127.0.0.1"), wrong), /^HoldfastError: retry: [^]*maxRetries/)
  })

  it("runs the example of its README", () =>
    withProvider("ok", async (url, requests) => {
      Object.assign(process.env, { OPENAI_BASE_URL: url, OPENAI_API_KEY: "none" })
      await import("./langchain.example.mts")
      assert.equal(requests().length, 1)
    }))
})
