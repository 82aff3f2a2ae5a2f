/**
 * Puts together the tool calls of a chat completion, which come in pieces, several at once.
 *
 * Pieces belong together by `index`. Providers that imitate the format stray from that: Gemini gives index 0 to each of
 * several calls, others give no index, or no id, or all of a call at once with its arguments as an object.
 */
import { ResponseLimit, TextBuffer } from "@holdfast/kernel"
import { JsonShape, type Message } from "@holdfast/wire"
import { type JsonObject, objectOf, textOf } from "../Json.ts"
import * as ToolArguments from "../ToolArguments.ts"

interface Call {
  readonly index: number | undefined
  id: string | undefined
  name: string
  readonly text: TextBuffer.TextBuffer
}

export interface ToolCalls {
  readonly add: (piece: JsonObject) => void
  readonly count: () => number
  /** The tools that are called. */
  readonly names: () => ReadonlyArray<string>
  /** Characters so far, and one a piece. */
  readonly length: () => number
  /** Characters that are kept (`Machine.kept`). */
  readonly kept: () => number
  /** The calls, in the order in which they began. Only the end of a response tells that they are whole (C7). */
  readonly whole: (wasCut: boolean) => ReadonlyArray<Message.ToolCallPart>
}

/** `idOf` names the nth call where a provider does not. */
export const make = (idOf: (n: number) => string): ToolCalls => {
  const calls: Array<Call> = []
  let length = 0
  let kept = 0
  return {
    add: (piece) => {
      const { arguments: given, name } = objectOf(piece.function)
      const index = typeof piece.index === "number" ? piece.index : undefined
      const id = textOf(piece.id)
      const text =
        typeof given === "string"
          ? given
          : given === undefined || given === null
            ? ""
            : JsonShape.textOf(given, Infinity) // which no depth overflows
      let call = find(calls, index, id)
      if (call === undefined || isAnother(call, index, id, textOf(name))) {
        call = { index, id, name: "", text: new TextBuffer.TextBuffer() }
        calls.push(call)
        kept += ResponseLimit.PART_CHARACTERS
      }
      call.id ??= id
      if (call.name === "") call.name = textOf(name) ?? ""
      if (text !== "") call.text.append(text)
      length += text.length + 1
      kept += text.length + (id?.length ?? 0) + (textOf(name)?.length ?? 0)
    },
    count: () => calls.length,
    names: () => calls.map(({ name }) => name),
    length: () => length,
    kept: () => kept,
    whole: (wasCut) =>
      calls.map((call, n) =>
        ToolArguments.toCall({ toolCallId: call.id ?? idOf(n), toolName: call.name, text: call.text.text(), wasCut })
      )
  }
}

// --- internal

const find = (calls: ReadonlyArray<Call>, index: number | undefined, id: string | undefined): Call | undefined =>
  index !== undefined
    ? calls.findLast((call) => call.index === index)
    : ((id === undefined ? undefined : calls.findLast((call) => call.id === id)) ?? calls.at(-1))

/** Whether a piece begins a call of its own although its index, or its having none, says otherwise. */
const isAnother = (call: Call, index: number | undefined, id: string | undefined, name: string | undefined): boolean =>
  name !== undefined &&
  call.name !== "" &&
  (id === undefined ? index === undefined : call.id !== undefined && call.id !== id)
