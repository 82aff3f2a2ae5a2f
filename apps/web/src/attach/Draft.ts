/**
 * A prompt that is being written or sent: its text, its files as far as they fit the service's limits, and the parts of the prompt. Pure,
 * but for the reading of a file.
 *
 * A file that the service would refuse is refused here, with its size and the limit, before anything is sent.
 */
import { Count, type FilePart, type Prompt } from "@holdfast/wire"

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
  const prompt = partsOf(text, await Promise.all(files.map(partOf)))
  if (prompt === undefined) throw new Error("An empty prompt is not sent.")
  return prompt
}

/** An id that no other client chooses; `crypto.randomUUID` is missing in pages of other machines without TLS. */
export const newId = (): string =>
  `t_${Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("")}`

/** The limits of the service. */
export interface AttachmentLimits {
  /** The most bytes of one file (`server.maxFileBytes`). */
  readonly fileBytes: number
  /** The most bytes of a call (`server.maxBodyBytes`). */
  readonly bodyBytes: number
}

/** The part of a file that the limits are about. */
interface Sized {
  readonly name: string
  readonly size: number
}

/** Splits files into those that fit beside the files of the prompt, and why each of the others does not. */
export const admit = <A extends Sized>(
  there: ReadonlyArray<Sized>,
  added: ReadonlyArray<A>,
  limits: AttachmentLimits
): { readonly fitting: ReadonlyArray<A>; readonly problems: ReadonlyArray<string> } => {
  const fitting: Array<A> = []
  const problems: Array<string> = []
  for (const file of added) {
    const problem = problemOf([...there, ...fitting], file, limits)
    if (problem === undefined) fitting.push(file)
    else problems.push(`“${file.name}” ${problem}`)
  }
  return { fitting, problems }
}

/** A prompt of a text and files: the text alone where there are none. `undefined`: it is empty. */
export const partsOf = (text: string, files: ReadonlyArray<FilePart.FilePart>): Prompt.Prompt | undefined => {
  const [first, ...others] = files
  if (first === undefined) return text === "" ? undefined : text
  return text === "" ? [first, ...others] : [{ type: "text", text }, ...files]
}

/** The text and the files of a prompt. A file at an address is its address in the text. */
export const of = (prompt: Prompt.Prompt): PromptDraft => {
  const files: Array<File> = []
  // `Prompt.partsOf` would load the schemas of prompts, a quarter of the page.
  const parts: Prompt.Parts = typeof prompt === "string" ? [{ type: "text", text: prompt }] : prompt
  const texts = parts.flatMap((part) => {
    if (part.type === "text") return [part.text]
    if (!("data" in part)) return [part.url]
    const bytes = Uint8Array.from(atob(part.data), (character) => character.charCodeAt(0))
    files.push(new File([bytes], part.name ?? "file", { type: part.mediaType }))
    return []
  })
  return { text: texts.join("\n\n"), files }
}

/** The type that the browser gives, as the service takes it: in lower case, without parameters. */
export const mediaTypeOf = ({ type }: Pick<File, "type">): string => {
  const plain = (type.split(";")[0] ?? "").trim().toLowerCase()
  return /^[a-z]+\/[a-z0-9][a-z0-9.+_-]*$/.test(plain) ? plain : "application/octet-stream"
}

/** A name as the service takes it. */
export const nameOf = (name: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is replaced
  name.replace(/[\u0000-\u001f\u007f/\\]/g, "_").slice(-MOST_NAME) || "file"

// --- internal

/** The service takes 100 parts, and one is the text. */
const MOST_FILES = 99

const MOST_NAME = 255

/** Room in a call for the text and the names. */
const BESIDE_BYTES = 65_536

const problemOf = (
  there: ReadonlyArray<Sized>,
  { size }: Sized,
  { bodyBytes, fileBytes }: AttachmentLimits
): string | undefined => {
  if (size === 0) return "is empty."
  if (size > fileBytes) return `has ${Count.ofBytes(size)}. A file may have ${Count.ofBytes(fileBytes)} at most.`
  if (there.length >= MOST_FILES) return `is one too many. A prompt may have ${MOST_FILES} files.`
  // Base64 has four characters for three bytes.
  const sum = there.reduce((sum, file) => sum + Math.ceil(file.size / 3) * 4, Math.ceil(size / 3) * 4)
  return sum > bodyBytes - BESIDE_BYTES
    ? `does not fit. The files of a prompt may have ${Count.ofBytes(((bodyBytes - BESIDE_BYTES) / 4) * 3)} together.`
    : undefined
}

/** A file as a part of a prompt. Rejects where the browser cannot read it. */
const partOf = async (file: File): Promise<FilePart.FilePart> => ({
  type: "file",
  mediaType: mediaTypeOf(file),
  name: nameOf(file.name),
  data: await base64Of(file)
})

const base64Of = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("load", () => {
      const text = typeof reader.result === "string" ? reader.result : ""
      resolve(text.slice(text.indexOf(",") + 1))
    })
    reader.addEventListener("error", () => reject(new Error(`“${file.name}” could not be read.`)))
    reader.readAsDataURL(file)
  })
