/** The real OpenAI Agents SDK, over a provider on a socket that fails, with and without patience. */
import { holdfast, type Retry } from "@holdfast/openai-agents"
import { Agent, Runner, setTracingDisabled, tool } from "@openai/agents-core"
import { OpenAIProvider } from "@openai/agents-openai"
import assert from "node:assert/strict"
import { describe, it } from "node:test"
import OpenAI, { AuthenticationError } from "openai"
import { AT_ONCE, silentProvider, withProvider } from "./provider.mts"

setTracingDisabled(true)

const providerAt = (baseURL: string) =>
  new OpenAIProvider({ openAIClient: new OpenAI({ baseURL, apiKey: "none" }), useResponses: false })

const runnerAt = (baseURL: string, retries: Array<Retry> = []) =>
  new Runner({
    modelProvider: holdfast(providerAt(baseURL), { retry: AT_ONCE, onRetry: (retry) => void retries.push(retry) })
  })

const agent = new Agent({ name: "Guide", model: "m" })

describe("the OpenAI Agents SDK", () => {
  it("rule D4: streams one answer through a 529, an error in the stream, a stall and a cut, with its usage", () =>
    withProvider("529,error-in-stream,stall,cut", async (url, requests) => {
      const retries: Array<Retry> = []
      const result = await runnerAt(url, retries).run(agent, "Are you there?", { stream: true })
      let text = ""
      for await (const delta of result.toTextStream()) text += delta
      await result.completed
      assert.notEqual(text, "")
      assert.equal(text, result.finalOutput)
      assert.equal(requests().length, 5)
      assert.deepEqual(
        retries.map(({ attempt, reason }) => [attempt, reason]),
        [
          [0, "overloaded"],
          [1, "overloaded"],
          [2, "timeout"],
          [3, "network"]
        ]
      )
      const { inputTokens, outputTokens } = result.state.usage
      assert.ok(inputTokens > 0 && outputTokens > 0, `${inputTokens} and ${outputTokens} tokens`)
    }))

  it("rule C6: a stream that ends without a finish reason has failed, behind its text", () =>
    withProvider("ends-after-2", async (url, requests) => {
      const result = await runnerAt(url).run(agent, "Are you there?", { stream: true })
      let text = ""
      await assert.rejects(async () => {
        for await (const delta of result.toTextStream()) text += delta
        await result.completed
      }, /ended before it was finished/)
      assert.notEqual(text, "")
      assert.equal(requests().length, 1)
    }))

  for (const stream of [true, false])
    it(`leaves tools to the runner, which runs each once (${stream ? "streamed" : "not streamed"})`, () =>
      withProvider(`529,tool-call;name=weather;input={"city":"Bergen"},503`, async (url, requests) => {
        let runs = 0
        const weather = tool({
          name: "weather",
          description: "The weather of a city.",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: false
          },
          execute: (input) => `${(input as { readonly city: string }).city} ${++runs}`
        })
        const guide = agent.clone({ tools: [weather] })
        const runner = runnerAt(url)
        if (stream) await (await runner.run(guide, "How is the weather?", { stream })).completed
        else assert.notEqual((await runner.run(guide, "How is the weather?")).finalOutput, "")
        assert.equal(runs, 1)
        assert.equal(requests().length, 4)
        assert.match(requests().at(-1) ?? "", /Bergen 1/)
      }))

  it("rule C9: there is one patience, under the model and above it", () =>
    withProvider("500x*", async (url, requests) => {
      const modelProvider = holdfast(providerAt(url), { retry: { ...AT_ONCE, maxRetries: 2 } })
      const retried = agent.clone({ modelSettings: { retry: { maxRetries: 5, policy: () => true } } })
      await assert.rejects(new Runner({ modelProvider }).run(retried, "Hello"), { status: 500 })
      assert.equal(requests().length, 3)
    }))

  it("rule C9: without it the OpenAI client makes three requests", () =>
    withProvider("500x*;header:retry-after-ms=1", async (url, requests) => {
      await assert.rejects(new Runner({ modelProvider: providerAt(url) }).run(agent, "Hello"), { status: 500 })
      assert.equal(requests().length, 3)
    }))

  it("gives an error that is not retried at once, as the client threw it", () =>
    withProvider("401x*", async (url, requests) => {
      await assert.rejects(runnerAt(url).run(agent, "Hello"), AuthenticationError)
      assert.equal(requests().length, 1)
    }))

  for (const stream of [true, false])
    it(`an abort closes the connection (${stream ? "streamed" : "not streamed"})`, async () => {
      const provider = await silentProvider()
      const controller = new AbortController()
      const { signal } = controller
      const modelProvider = holdfast(providerAt(provider.url))
      const runner = new Runner({ modelProvider })
      const run = stream
        ? runner.run(agent, "Hello", { stream, signal }).then(({ completed }) => completed)
        : runner.run(agent, "Hello", { signal })
      const ended = run.then(
        () => undefined,
        (error: unknown) => error
      )
      await provider.asked
      controller.abort()
      await provider.closed
      const error = await ended
      if (!stream) assert.equal((error as Error).name, "AbortError")
      provider.close()
    })

  for (const stream of [true, false])
    it(`rule C8: a silence closes the connection (${stream ? "streamed" : "not streamed"})`, async () => {
      const provider = await silentProvider()
      const retry = { maxRetries: 0, requestTimeout: { firstContent: "50 millis" } }
      const runner = new Runner({ modelProvider: holdfast(providerAt(provider.url), { retry }) })
      const ask = async () => {
        if (stream) await (await runner.run(agent, "Hello", { stream })).completed
        else await runner.run(agent, "Hello")
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

  it("names what is wrong with its options", () => {
    const wrong = { retry: { maxRetries: -1 } }
    assert.throws(() => holdfast(providerAt("http://127.0.0.1"), wrong), /^HoldfastError: retry: [^]*maxRetries/)
  })

  it("runs the example of its README", () =>
    withProvider("ok", async (url) => {
      Object.assign(process.env, { OPENAI_BASE_URL: url, OPENAI_API_KEY: "none" })
      const { setOpenAIAPI } = await import("@openai/agents-openai")
      setOpenAIAPI("chat_completions")
      const { finalOutput } = await import("./openai-agents.example.mts")
      assert.notEqual(finalOutput, "")
    }))
})
