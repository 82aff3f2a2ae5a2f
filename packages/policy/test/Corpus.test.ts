import { Failure } from "@holdfast/wire"
import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Classification from "../src/classification/Classification.ts"
import { corpus } from "./corpus/Corpus.ts"
import { type Input, NOW, type Origin, type Payload } from "./corpus/Payload.ts"

const classify = (input: Input): Failure.Failure => {
  switch (input.via) {
    case "response":
      return Classification.ofResponse({ ...input, now: NOW })
    case "stream":
      return Classification.ofStreamError({ ...input, now: NOW })
    case "thrown":
      return Classification.ofThrown(input.error(), NOW)
    default:
      return input satisfies never
  }
}

/** The rule that a payload is an example of. */
const ruleOf = ({ expected, input }: Payload): string => {
  if (expected.reason === "context-overflow") return "P2"
  if (expected.defect === true) return "C10"
  if (expected.reason === "aborted") return "M3"
  return input.via === "stream" ? "C3" : input.via === "thrown" ? "C5" : "C2"
}

describe("the corpus of real errors", () => {
  for (const payload of corpus) {
    const { expected, id, source } = payload
    it(`${ruleOf(payload)}: ${id} is ${expected.reason} (${source})`, () => {
      const { hint, ...failure } = classify(payload.input)
      const { retryAfterMs, ...rest } = expected
      expect(failure).toMatchObject(rest)
      expect(hint?.retryAfterMs).toBe(retryAfterMs)
      expect(failure.status).toBe(expected.status)
      expect(failure.defect).toBe(expected.defect)
    })
  }
})

describe("the corpus itself", () => {
  it("has at least 300 payloads, each with its own id", () => {
    expect(corpus.length).toBeGreaterThanOrEqual(300)
    expect(new Set(corpus.map(({ id }) => id)).size).toBe(corpus.length)
  })

  it("names the source of each payload: an issue or a page", () => {
    for (const { id, kind, source } of corpus) {
      expect(source, id).toMatch(kind === "recorded" ? /^[\w.-]+\/[\w.-]+#\d+$/ : /https:\/\/|[\w.-]+\/[\w.-]+ /)
    }
  })

  it("has mostly recorded payloads of providers", () => {
    const spoken = corpus.filter(({ origin }) => origin !== "node" && origin !== "sdks" && origin !== "proxies")
    expect(spoken.filter(({ kind }) => kind === "recorded").length).toBeGreaterThan(spoken.length / 2)
  })

  it("rule C1: has every reason", () => {
    const reasons = new Set(corpus.map(({ expected }) => expected.reason))
    expect([...Failure.Reason.literals].filter((reason) => !reasons.has(reason))).toEqual([])
  })

  it("has every provider of the list", () => {
    const origins: { readonly [K in Origin]: true } = {
      openai: true,
      anthropic: true,
      google: true,
      openrouter: true,
      azure: true,
      groq: true,
      mistral: true,
      xai: true,
      deepseek: true,
      cloudflare: true,
      proxies: true,
      gateways: true,
      cohere: true,
      perplexity: true,
      zai: true,
      alibaba: true,
      moonshot: true,
      minimax: true,
      bedrock: true,
      huggingface: true,
      hosts: true,
      copilot: true,
      local: true,
      node: true,
      sdks: true
    }
    const seen = new Set<string>(corpus.map(({ origin }) => origin))
    expect(Object.keys(origins).filter((origin) => !seen.has(origin))).toEqual([])
  })

  it("rule C1: classifies every payload into a failure of the wire format", () => {
    for (const { input } of corpus) expect(Schema.is(Failure.Failure)(classify(input))).toBe(true)
  })
})
