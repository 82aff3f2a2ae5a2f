import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import * as AnthropicResponse from "../../src/anthropic/Response.ts"
import * as OpenAiResponse from "../../src/openai/Response.ts"
import * as UsageMeter from "../../src/decoding/UsageMeter.ts"

const emitted = (emit: (meter: UsageMeter.UsageMeter, out: Array<Provider.ProviderEvent>) => void) => {
  const out: Array<Provider.ProviderEvent> = []
  emit(UsageMeter.make(), out)
  return out.map((event) => (event.type === "usage" ? event.usage : event))
}

describe("UsageMeter", () => {
  it("counts are emitted with the first output, and at the end if they have changed since", () => {
    expect(
      emitted((meter, out) => {
        meter.set({ inputTokens: 1 })
        meter.first(out)
        meter.first(out)
        meter.set({ inputTokens: 1, outputTokens: 2 })
        meter.first(out)
        expect(meter.get()).toEqual({ inputTokens: 1, outputTokens: 2 })
        meter.last(out)
        meter.last(out)
      })
    ).toEqual([{ inputTokens: 1 }, { inputTokens: 1, outputTokens: 2 }])
  })

  it("without counts nothing is emitted", () => {
    const emit = (meter: UsageMeter.UsageMeter, out: Array<Provider.ProviderEvent>) => {
      meter.first(out)
      meter.last(out)
    }
    expect(emitted(emit)).toEqual([])
    expect(
      emitted((meter, out) => {
        meter.set({})
        emit(meter, out)
      })
    ).toEqual([])
  })

  it("counts after the first output wait for the end, even if there were none before", () => {
    expect(
      emitted((meter, out) => {
        meter.first(out)
        meter.set({ inputTokens: 7 })
        meter.first(out)
        expect(out.length).toBe(1)
        meter.last(out)
      })
    ).toEqual([{ inputTokens: 7 }])
  })
})

describe("Anthropic's counts", () => {
  const merged = (...all: ReadonlyArray<{ readonly [key: string]: unknown }>) =>
    AnthropicResponse.toUsage(all.reduce(AnthropicResponse.mergeUsage, AnthropicResponse.noUsage))

  it("the last value of each count holds, and an absent one keeps its value", () => {
    const first = { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 3, cache_creation_input_tokens: 5 }
    const all = { inputTokens: 18, outputTokens: 1, cachedInputTokens: 3, cacheWriteTokens: 5 }
    expect(merged(first)).toEqual(all)
    expect(merged(first, { output_tokens: 9 })).toEqual({ ...all, outputTokens: 9 })
    expect(merged(first, { input_tokens: 20, output_tokens: null })).toEqual({ ...all, inputTokens: 28 })
    expect(merged(first, { cache_read_input_tokens: 0, cache_creation_input_tokens: 0 })).toEqual({
      inputTokens: 10,
      outputTokens: 1,
      cachedInputTokens: 0,
      cacheWriteTokens: 0
    })
  })

  it("cached tokens alone give no input; input without cached tokens is the input", () => {
    expect(merged({ cache_read_input_tokens: 3 })).toEqual({ cachedInputTokens: 3 })
    expect(merged({ input_tokens: 3 })).toEqual({ inputTokens: 3 })
    expect(merged({})).toEqual({})
  })
})

describe("OpenAI's counts", () => {
  it("reasoning is added to the output only where the total shows that it is not included", () => {
    const read = (completion_tokens: number | undefined, reasoning_tokens: number, total_tokens: number) =>
      OpenAiResponse.usageOf({
        prompt_tokens: 10,
        completion_tokens,
        total_tokens,
        completion_tokens_details: { reasoning_tokens }
      })
    expect(read(7, 5, 22)).toEqual({ inputTokens: 10, outputTokens: 12, reasoningTokens: 5 })
    expect(read(7, 5, 17)).toEqual({ inputTokens: 10, outputTokens: 7, reasoningTokens: 5 })
    expect(read(7, 0, 17)).toEqual({ inputTokens: 10, outputTokens: 7, reasoningTokens: 0 })
    expect(read(7, 1, 18)).toEqual({ inputTokens: 10, outputTokens: 8, reasoningTokens: 1 })
    expect(read(undefined, 5, 15)).toEqual({ inputTokens: 10, reasoningTokens: 5 })
    expect(
      OpenAiResponse.usageOf({
        completion_tokens: 7,
        total_tokens: 9,
        completion_tokens_details: { reasoning_tokens: 2 }
      })
    ).toEqual({ outputTokens: 9, reasoningTokens: 2 })
  })

  it("tokens read from a cache have three names, and the details take precedence", () => {
    const names = { prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 4 }, prompt_cache_hit_tokens: 2 }
    expect(OpenAiResponse.usageOf({ ...names, cached_tokens: 3 })).toEqual({
      cachedInputTokens: 1,
      cacheWriteTokens: 4
    })
    expect(OpenAiResponse.usageOf({ prompt_cache_hit_tokens: 2, cached_tokens: 3 })).toEqual({ cachedInputTokens: 2 })
    expect(OpenAiResponse.usageOf({ cached_tokens: 3 })).toEqual({ cachedInputTokens: 3 })
  })
})
