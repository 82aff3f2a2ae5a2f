/** Tests which messages of a history are sent to the model. */
import { assert, describe, it } from "@effect/vitest"
import { Scenario, ScriptedProvider } from "@holdfast/kernel/testing"
import { defined, Ids, type Message } from "@holdfast/wire"
import * as fc from "fast-check"
import * as ModelContext from "../src/turn/ModelContext.ts"

const { target, turnId } = Scenario

let count = 0
const common = () => ({ id: Ids.messageIdOf(turnId, count++), turnId, createdAt: 0 })

const user = (text: string): Message.UserMessage => ({ role: "user", ...common(), content: [{ type: "text", text }] })

const summary = (text: string, upTo: Message.Message | undefined): Message.UserMessage => ({
  ...user(text),
  synthetic: true,
  summary: { upTo: upTo?.id ?? assert.fail("there is no such message") }
})

const assistant = (
  content: Message.AssistantMessage["content"],
  error?: Message.AssistantMessage["error"]
): Message.AssistantMessage => ({
  role: "assistant",
  ...common(),
  content,
  target,
  ...defined({ error })
})

const said = (text: string) => assistant([{ type: "text", text }])
const failed = (text: string) => assistant([{ type: "text", text }], ScriptedProvider.overloaded)

const result = (toolCallId: string): Message.ToolResultPart => ({
  type: "tool-result",
  toolCallId,
  toolName: "t",
  output: `result of ${toolCallId}`,
  isError: false
})
const results = (...ids: ReadonlyArray<string>): Message.ToolMessage => ({
  role: "tool",
  ...common(),
  content: ids.map(result)
})
const asks = (...ids: ReadonlyArray<string>) => assistant(ids.map((id) => ScriptedProvider.call("t", id)))

/** A history in short: the role and text of each message. */
const shape = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message) =>
    message.content
      .map((part) => {
        switch (part.type) {
          case "text":
            return `${message.role}: ${part.text}`
          case "tool-call":
            return `ask ${part.toolCallId}`
          case "tool-result":
            return part.output === ModelContext.INTERRUPTED ? `unknown ${part.toolCallId}` : `got ${part.toolCallId}`
          default:
            return part.type
        }
      })
      .join(", ")
  )

describe("ModelContext", () => {
  it("rule P12: of several failed responses in a row none is in it", () => {
    const history = [user("1"), failed("a"), failed("b"), user("2"), failed(""), said("ok"), user("3"), failed("c")]
    assert.deepStrictEqual(shape(ModelContext.of(history)), ["user: 1", "user: 2", "assistant: ok", "user: 3"])
  })

  it("rule M1: a manual retry after finished steps keeps them, and leaves out the failed response after them", () => {
    const history = [user("1"), asks("x"), results("x"), failed("Half")]
    assert.deepStrictEqual(shape(ModelContext.of(history)), ["user: 1", "ask x", "got x"])
  })

  it("rule P12: the calls of a failed response are not in it, nor are their results", () => {
    const broken = assistant([ScriptedProvider.call("t", "x")], ScriptedProvider.overloaded)
    assert.deepStrictEqual(shape(ModelContext.of([user("1"), broken, results("x"), user("2")])), ["user: 1", "user: 2"])
  })

  it("a call without a result is answered as interrupted, right after it, in the order of the calls", () => {
    assert.deepStrictEqual(shape(ModelContext.of([user("1"), asks("x", "y"), results("y"), user("2")])), [
      "user: 1",
      "ask x, ask y",
      "unknown x, got y",
      "user: 2"
    ])
    assert.deepStrictEqual(shape(ModelContext.of([asks("x"), user("2"), results("x")])), [
      "ask x",
      "unknown x",
      "user: 2"
    ])
  })

  it("a result without a call is not in it", () => {
    assert.deepStrictEqual(shape(ModelContext.of([user("1"), results("x"), asks("y"), results("x", "y")])), [
      "user: 1",
      "ask y",
      "got y"
    ])
  })

  it("rule P19: a summary comes first, and replaces all messages up to and including `upTo`", () => {
    const history = [user("1"), said("a"), user("2"), said("b")]
    const summed = [...history, summary("so far", history[1]), said("c")]
    assert.deepStrictEqual(shape(ModelContext.of(summed)), ["user: so far", "user: 2", "assistant: b", "assistant: c"])
    // The last of several summaries replaces the others too.
    const again = [...summed, summary("and on", history[2])]
    assert.deepStrictEqual(shape(ModelContext.of(again)), ["user: and on", "assistant: b", "assistant: c"])
  })

  it("rule P19: a summary of a history that was cut off before it leaves nothing out", () => {
    assert.deepStrictEqual(shape(ModelContext.of([summary("so far", user("1")), said("b")])), [
      "user: so far",
      "assistant: b"
    ])
    assert.deepStrictEqual(shape(ModelContext.of([user("2"), summary("so far", user("1")), said("b")])), [
      "user: so far",
      "user: 2",
      "assistant: b"
    ])
  })

  it("rule P19: results whose call a summary replaces are not in it", () => {
    const call = asks("x")
    const history = [user("1"), call, results("x"), user("2")]
    assert.deepStrictEqual(shape(ModelContext.of([...history, summary("so far", call)])), ["user: so far", "user: 2"])
  })

  it("rule P12: for any history, it has no failed response, and every call has one result right after it", () => {
    const ids = fc.uniqueArray(fc.constantFrom("x", "y", "z"), { maxLength: 3 })
    const message: fc.Arbitrary<Message.Message> = fc.oneof(
      fc.constant("hi").map(user),
      fc.constant("ok").map(said),
      fc.constant("Ha").map(failed),
      ids.map((ids) => asks(...ids)),
      ids.map((ids) => results(...ids))
    )
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (history) => {
        const context = ModelContext.of(history)
        let open: ReadonlyArray<string> = []
        for (const message of context) {
          assert.isFalse(message.role === "assistant" && message.error !== undefined)
          if (message.role === "tool") {
            assert.deepStrictEqual(
              message.content.map(({ toolCallId }) => toolCallId),
              open
            )
            open = []
          } else {
            assert.deepStrictEqual(open, [])
            open =
              message.role === "assistant"
                ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []))
                : []
          }
        }
        assert.deepStrictEqual(open, [])
        // Nothing else is left out, and nothing changes places.
        const kept = history.filter(({ role }) => role !== "tool")
        assert.deepStrictEqual(
          context.filter(({ role }) => role !== "tool"),
          kept.filter((message) => message.role !== "assistant" || message.error === undefined)
        )
      })
    )
  })
})
