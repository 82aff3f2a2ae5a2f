/**
 * Holds a provider to the files that its models take.
 *
 * A prompt with another file fails before the call, for good (`requests/Files.ts`). Another file in a tool's result or of a model is sent
 * as its placeholder.
 */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import { Models } from "@holdfast/policy"
import type { FilePart, Message, Target } from "@holdfast/wire"
import * as Files from "./requests/Files.ts"

type Service = Provider.Provider["Service"]

/** The same provider, for models that take some files only. `acceptedOf` gives the media types; `undefined`: all of its format. */
export const limited = (
  provider: Service,
  acceptedOf: (target: Target.Target) => ReadonlyArray<string> | undefined
): Service => {
  const call = ProviderCall.of(provider)
  return ProviderCall.provider((request, world, listener) => {
    const accepted = acceptedOf(request.target)
    if (accepted === undefined) return call(request, world, listener)
    const refuses = refusesOf(accepted)
    const refused = Files.refusalOf(request, refuses)
    if (refused !== undefined) return ProviderCall.refuse(listener, refused)
    const messages = Files.handedOver(request.messages, refuses, (file) => refuses(file) === undefined)
    return call({ ...request, messages: messages.map((message) => shown(message, refuses)) }, world, listener)
  })
}

// --- internal

const refusesOf =
  (accepted: ReadonlyArray<string>): Files.Refuses =>
  ({ mediaType }: FilePart.FilePart) => {
    if (Models.accepts(accepted, mediaType)) return undefined
    return accepted.length === 0 ? "this model takes no files" : `of files this model takes ${accepted.join(", ")}`
  }

/** A message without files stays the same object: its size is remembered by it. */
const shown = (message: Message.Message, refuses: Files.Refuses): Message.Message => {
  if (message.role !== "tool" || !message.content.some((result) => hasRefused(result, refuses))) return message
  return {
    ...message,
    content: message.content.map((result) => {
      if (!hasRefused(result, refuses)) return result
      const { content: _, ...rest } = result
      const content = Files.partsOf(result, refuses)
      return content?.some(({ type }) => type === "file") === true ? { ...rest, content } : rest
    })
  }
}

const hasRefused = ({ content }: Message.ToolResultPart, refuses: Files.Refuses): boolean =>
  content?.some((part) => part.type === "file" && refuses(part) !== undefined) === true
