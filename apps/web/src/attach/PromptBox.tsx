/** The field of a prompt with its files. Enter sends, Shift and Enter begin a line. */
import { Count } from "@holdfast/wire"
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react"
import type { AttachedFiles } from "./useAttached.ts"
import * as Actions from "../palette/Actions.ts"
import * as BrowserStorage from "../service/BrowserStorage.ts"
import * as Service from "../service/Service.ts"
import { isShown } from "../conversation/FileBox.tsx"
import "./attach.css"

interface PromptBoxProps {
  readonly id: string
  /** The name of its draft (`keepDraft`). */
  readonly draft: string
  readonly field: RefObject<HTMLTextAreaElement | null>
  readonly attached: AttachedFiles
  readonly rows: number
  readonly placeholder: string
  readonly isPending: boolean
  /** Beside the button that sends. */
  readonly children?: ReactNode
}

/** The field, in a form of its parent, which has the label. */
export const PromptBox = ({ attached, children, draft, field, id, isPending, placeholder, rows }: PromptBoxProps) => (
  <div className="prompt-box">
    <AttachedList
      attached={attached}
      onRemove={(file) => {
        attached.remove(file)
        // The button that was pressed is gone.
        field.current?.focus()
      }}
    />
    <textarea
      key={draft}
      id={id}
      ref={field}
      name="prompt"
      rows={rows}
      placeholder={placeholder}
      defaultValue={draftOf(draft)}
      onInput={({ currentTarget }) => keepDraft(draft, currentTarget.value)}
      onPaste={attached.paste}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
        event.preventDefault()
        event.currentTarget.form?.requestSubmit()
      }}
    />
    <div className="prompt-bar" tabIndex={-1}>
      <AttachButton onAdd={attached.add} />
      {children}
      <button type="submit" className="primary" aria-disabled={isPending}>
        {isPending ? "Sending …" : "Send"}
      </button>
    </div>
  </div>
)

/** Keeps a text that was not sent, by its field: it survives navigation and reload, and goes with the tab. An empty one is removed. */
export const keepDraft = (field: string, text: string): void =>
  BrowserStorage.write("sessionStorage", PREFIX + field, text)

// --- internal

const PREFIX = "holdfast.draft."

/** A draft; empty: there is none. */
const draftOf = (field: string): string => BrowserStorage.read("sessionStorage", PREFIX + field) ?? ""

/** The button; its title has the limit, so that a person reads it before they choose. */
const AttachButton = ({ onAdd }: { readonly onAdd: (files: Iterable<File>) => void }) => {
  const chooser = useRef<HTMLInputElement>(null)
  const choose = (): void => chooser.current?.click()
  Actions.useActions("This conversation", [{ name: "Attach files …", words: "image upload", run: choose }])
  return (
    <>
      <button
        type="button"
        className="attach-button"
        aria-label="Attach files"
        title={`Attach files: ${Count.ofBytes(Service.limits().fileBytes)} each at most. You can also paste or drop them.`}
        onClick={choose}
      >
        <span aria-hidden="true">+</span>
      </button>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={({ target }) => {
          onAdd(target.files ?? [])
          // The same file can be chosen again.
          target.value = ""
        }}
      />
    </>
  )
}

interface AttachedListProps {
  readonly attached: Pick<AttachedFiles, "files" | "isDropping" | "problems">
  readonly onRemove: (file: File) => void
}

/** The files, and why others were not taken. */
const AttachedList = ({ attached: { files, isDropping, problems }, onRemove }: AttachedListProps) => (
  <>
    {isDropping && <div className="drop-here">Drop the files to attach them</div>}
    {files.length > 0 && (
      <ul className="attached" aria-label="Attached files">
        {files.map((file, index) => (
          <li key={`${index} ${file.name}`}>
            {isShown(file.type) && <Thumbnail file={file} />}
            <span className="attached-name">{file.name}</span>
            <span className="quiet">{Count.ofBytes(file.size)}</span>
            <button type="button" className="small" aria-label={`Remove ${file.name}`} onClick={() => onRemove(file)}>
              ×
            </button>
          </li>
        ))}
      </ul>
    )}
    {problems.length > 0 && (
      <div className="error-text" role="alert">
        {problems.map((problem, index) => (
          <p key={index}>Not attached: {problem}</p>
        ))}
      </div>
    )}
  </>
)

/** The page's policy allows images as data alone, so a picture is read once it is shown. */
const Thumbnail = ({ file }: { readonly file: File }) => {
  const [address, setAddress] = useState<string | undefined>(undefined)
  useEffect(() => {
    const reader = new FileReader()
    reader.addEventListener("load", () => setAddress(typeof reader.result === "string" ? reader.result : undefined))
    reader.readAsDataURL(file)
    return () => reader.abort()
  }, [file])
  return address === undefined ? null : <img src={address} alt="" />
}
