/**
 * Assembles the tool calls of a chat completion from interleaved pieces.
 *
 * Pieces with the same `index` belong together. Compatible servers deviate from that: Gemini gives index 0 to each of several calls;
 * others give no index, no id, or a whole call at once with its arguments as an object.
 */
import { ResponseLimit, TextBuffer } from "@holdfast/kernel/host"
import { JsonShape, type Message } from "@holdfast/wire"
import { type JsonObject, objectOf, textOf } from "../decoding/Json.ts"
import * as ToolArguments from "../decoding/ToolArguments.ts"

interface Call {
  readonly index: number | undefined
  id: string | undefined
  name: string
  readonly text: TextBuffer.TextBuffer
}

/** The tool calls of one response. */
export interface ToolCalls {
  readonly add: (piece: JsonObject) => void
  readonly count: () => number
  /** The names of the called tools. */
  readonly names: () => ReadonlyArray<string>
  /** Characters so far, plus one for each piece. */
  readonly length: () => number
  /** Characters that are kept (`Machine.kept`). */
  readonly kept: () => number
  /** The calls, in the order in which they began. They are known to be complete only at the end of the response (C7). */
  readonly whole: (wasCut: boolean) => ReadonlyArray<Message.ToolCallPart>
}

/** Collects no calls yet. `idOf` gives an id to the nth call where the provider gave none. */
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
            : JsonShape.textOf(given, Infinity) // does not overflow the stack at any depth
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

/** Whether a piece begins a new call, although it has the index of another one, or none. */
const isAnother = (call: Call, index: number | undefined, id: string | undefined, name: string | undefined): boolean =>
  name !== undefined &&
  call.name !== "" &&
  (id === undefined ? index === undefined : call.id !== undefined && call.id !== id)
