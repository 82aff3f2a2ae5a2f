/** A prompt that is being sent, with its files as they were when a person sent it. */
import type { Prompt } from "@holdfast/wire"
import * as Attached from "./Attached.ts"

/** The text and the files of a prompt. */
export interface PromptDraft {
  readonly text: string
  readonly files: ReadonlyArray<File>
}

/** Whether there is nothing to send. */
export const isEmpty = ({ files, text }: PromptDraft): boolean => text === "" && files.length === 0

/** Whether two drafts are the same prompt: then the second one is sent with the id of the first, and runs once. */
export const isSame = (a: PromptDraft, b: PromptDraft): boolean =>
  a.text === b.text && a.files.length === b.files.length && a.files.every((file, index) => file === b.files[index])

/** The prompt of a draft, once its files are read. */
export const promptOf = async ({ files, text }: PromptDraft): Promise<Prompt.Prompt> => {
  const prompt = Attached.promptOf(text, await Promise.all(files.map(Attached.partOf)))
  if (prompt === undefined) throw new Error("An empty prompt is not sent.")
  return prompt
}

/** An id that no other client chooses; `crypto.randomUUID` is missing in pages of other machines without TLS. */
export const newId = (): string =>
  `t_${Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`
