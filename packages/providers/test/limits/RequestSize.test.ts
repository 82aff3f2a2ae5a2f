/** Tests the limit on the size of a request. Its files share one text, so that a test of half a gigabyte needs none. */
import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { type Message, Ids } from "@holdfast/wire"
import { Effect, Stream } from "effect"
import { constants } from "node:buffer"
import * as Limits from "../../src/limits/Limits.ts"
import { run } from "../harness/AttemptRun.ts"
import { request } from "../harness/Dialect.ts"

const CHUNK = "A".repeat(2 ** 20)

const file = (length: number): Message.FilePart => ({
  type: "file",
  mediaType: "image/png",
  data: CHUNK.slice(0, length)
})

const common = { turnId: Ids.TurnId.make("t"), createdAt: 0 }

/** A history with images in prompts, of models and in results of tools. */
const historyOf = (characters: number): ReadonlyArray<Message.Message> => {
  const files = Array.from({ length: Math.floor(characters / CHUNK.length) }, () => file(CHUNK.length))
  const [first, second, third = file(1), ...more] = files
  if (first === undefined || second === undefined) throw new Error("a history of at least three files")
  return [
    { role: "user", id: Ids.messageIdOf(common.turnId, 0), ...common, content: [first] },
    { role: "assistant", id: Ids.messageIdOf(common.turnId, 1), ...common, target: request.target, content: [second] },
    {
      role: "tool",
      id: Ids.messageIdOf(common.turnId, 2),
      ...common,
      content: [
        {
          type: "tool-result",
          toolCallId: "c",
          toolName: "look",
          output: "[3 files]",
          isError: false,
          content: [third, ...more, file(characters % CHUNK.length)]
        }
      ]
    }
  ]
}

const askedWith = (characters: number) => {
  let calls = 0
  const provider: Provider.Provider["Service"] = {
    stream: () => {
      calls++
      return Stream.make({ type: "finish" as const, finishReason: "stop" as const })
    }
  }
  const asked = { ...request, system: "", messages: historyOf(characters) }
  return Effect.map(
    run(Limits.withLimits(provider, {}), () => {}, asked),
    (ending) => ({ ...ending, calls })
  )
}

describe("the size of a request", () => {
  it("has the limit of this runtime", () => {
    expect(Limits.MOST_CHARACTERS).toBe(constants.MAX_STRING_LENGTH)
  })

  it.effect("a request of the largest size is sent", () =>
    Effect.gen(function* () {
      expect(yield* askedWith(Limits.MOST_CHARACTERS)).toMatchObject({ isSuccess: true, calls: 1 })
    })
  )

  it.effect("rule C2: a larger one fails without a call, by its size and the limit, and is never retried", () =>
    Effect.gen(function* () {
      const { calls, failure } = yield* askedWith(Limits.MOST_CHARACTERS + 1)
      expect(calls).toBe(0)
      expect(failure).toMatchObject({ reason: "bad-request", code: "request-too-large", retryable: false })
      expect(failure?.message).toContain("has 536870889 characters of at most 536870888")
    })
  )

  it("counts texts, reasoning and results too", () => {
    const messages: ReadonlyArray<Message.Message> = [
      ...historyOf(Limits.MOST_CHARACTERS - 5),
      {
        role: "assistant",
        id: Ids.messageIdOf(common.turnId, 3),
        ...common,
        target: request.target,
        content: [
          { type: "text", text: "1" },
          { type: "reasoning", text: "2" },
          { type: "tool-call", toolCallId: "d", toolName: "look", input: {} }
        ]
      },
      {
        role: "tool",
        id: Ids.messageIdOf(common.turnId, 4),
        ...common,
        content: [{ type: "tool-result", toolCallId: "d", toolName: "look", output: "3", isError: false }]
      }
    ]
    expect(Limits.tooLarge({ messages })).toBeUndefined()
    expect(Limits.tooLarge({ messages, system: "4" })).toBeDefined()
  })

  it("rule C2: counts the escapes of texts, of arguments and of results of tools", () => {
    // In JSON an escape of six characters and three of two.
    const text = '\u0001\n"\\'.repeat(1_000)
    const inArguments = { text: "a\nb" }
    const written = 2 * (JSON.stringify(text).length - 2) + JSON.stringify(JSON.stringify(inArguments)).length - 2
    const messages: ReadonlyArray<Message.Message> = [
      ...historyOf(Limits.MOST_CHARACTERS - written - 1),
      {
        role: "assistant",
        id: Ids.messageIdOf(common.turnId, 3),
        ...common,
        target: request.target,
        content: [
          { type: "text", text },
          { type: "tool-call", toolCallId: "d", toolName: "write", input: inArguments }
        ]
      },
      {
        role: "tool",
        id: Ids.messageIdOf(common.turnId, 4),
        ...common,
        content: [{ type: "tool-result", toolCallId: "d", toolName: "write", output: text, isError: false }]
      }
    ]
    expect(Limits.tooLarge({ messages, system: "1" })).toBeUndefined()
    const refused = Limits.tooLarge({ messages, system: "\n" })
    expect(refused?.failure.message).toContain("has 536870889 characters of at most 536870888")
  })
})
