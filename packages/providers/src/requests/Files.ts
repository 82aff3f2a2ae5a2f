/**
 * Decides which files of a request its model takes, before the call.
 *
 * A file in a prompt that the format or the model cannot take fails the call before it is made, with an error that names the model, the
 * part and the remedy. It is never left out, and never retried: it would fail the same way. A file in a tool's result or of a model is
 * sent as its placeholder instead: no person chose it, and the model can go on without it. Where a format has no place for a file in a
 * model's own message, the file follows in a message of the user, behind the results of that message's calls.
 */
import type { Provider } from "@holdfast/kernel"
import { Failure, FilePart, type Message, type Prompt, Target } from "@holdfast/wire"

/** Why a format or a model cannot take a file; `undefined`: it can. */
export type Refuses = (part: FilePart.FilePart) => string | undefined

/** The failure of a request with a file that its model cannot take; `undefined`: there is none. */
export const refusalOf = (
  { messages, target, turnId }: Provider.ProviderRequest,
  refuses: Refuses
): Failure.ProviderFailure | undefined => {
  for (const message of messages) {
    if (message.role !== "user") continue
    for (const [index, part] of message.content.entries()) {
      const reason = part.type === "file" ? refuses(part) : undefined
      if (part.type !== "file" || reason === undefined) continue
      const prompt = message.turnId === turnId ? "the prompt" : `the prompt of turn ${message.turnId}`
      return new Failure.ProviderFailure({
        failure: {
          reason: "bad-request",
          code: UNSUPPORTED,
          message:
            `${Target.format(target)} cannot take part ${index + 1} of ${prompt}, ${FilePart.placeholderOf(part)}: ${reason}. ` +
            "Nothing was sent. Use a model that takes it, or send the file in another form.",
          retryable: false
        }
      })
    }
  }
  return undefined
}

/** The code of a file that was refused before the call. */
export const UNSUPPORTED = "unsupported-file"

/** A result's parts, with a placeholder for each file that is refused; `undefined` for a result without files. */
export const partsOf = ({ content }: Message.ToolResultPart, refuses: Refuses): Prompt.Parts | undefined => {
  if (content === undefined) return undefined
  const [first, ...more] = content
  const shown = shownBy(refuses)
  return [shown(first), ...more.map(shown)]
}

/** The files of a result that are not refused, behind words that name what they are of; nothing where there are none. */
export const ofResult = (
  { content }: Pick<Message.ToolResultPart, "content">,
  refuses: Refuses,
  name: string
): ReadonlyArray<Message.InputPart> => {
  const files = (content ?? []).filter((part) => part.type === "file" && refuses(part) === undefined)
  if (files.length === 0) return []
  const about = files.length === 1 ? "The file" : `The ${files.length} files, in order,`
  return [{ type: "text", text: `${about} of the result of ${name}:` }, ...files]
}

/** The messages with the files of models in messages of the user, but for those that stay where they are. */
export const handedOver = (
  messages: ReadonlyArray<Message.Message>,
  refuses: Refuses,
  stays: (file: Message.ModelFile, of: Message.AssistantMessage) => boolean = () => false
): ReadonlyArray<Message.Message> => {
  const given = (message: Message.Message | undefined): ReadonlyArray<Message.UserMessage> => {
    if (message?.role !== "assistant") return []
    const files = message.content.flatMap((part) => (part.type === "file" && !stays(part, message) ? [part] : []))
    if (files.length === 0) return []
    const { createdAt, id, turnId } = message
    return [
      {
        role: "user",
        id,
        turnId,
        createdAt,
        content: [{ type: "text", text: "You made:" }, ...files.map(shownBy(refuses))]
      }
    ]
  }
  return messages.flatMap((message, at): ReadonlyArray<Message.Message> => {
    if (message.role === "tool") return [message, ...given(messages[at - 1])]
    const files = given(message)
    if (message.role !== "assistant" || files.length === 0) return [message]
    const rest = { ...message, content: message.content.filter((part) => part.type !== "file" || stays(part, message)) }
    return messages[at + 1]?.role === "tool" ? [rest] : [rest, ...files]
  })
}

const shownBy =
  (refuses: Refuses) =>
  (part: Message.InputPart): Message.InputPart =>
    part.type === "file" && refuses(part) !== undefined
      ? { type: "text", text: `${FilePart.placeholderOf(part)} (not shown: this model cannot read it)` }
      : part

/** The text of a file of text. */
export const textOf = ({ data }: FilePart.FileBytes): string =>
  new TextDecoder().decode(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)))

/** A file of text as text of the prompt, between tags with its name. */
export const asText = (part: FilePart.FileBytes): string =>
  `<file name=${JSON.stringify(part.name ?? "file.txt")}>\n${textOf(part)}\n</file>`

/** The name of a file without one, where the format requires a name. */
export const nameOf = (mediaType: string): string => (mediaType === "application/pdf" ? "file.pdf" : "file")
