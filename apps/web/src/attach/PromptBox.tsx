/** The field of a prompt with its files. Enter sends, Shift and Enter begin a line. */
import type { ReactNode, RefObject } from "react"
import { AttachButton } from "./AttachButton.tsx"
import { AttachedList } from "./AttachedList.tsx"
import * as Draft from "./Draft.ts"
import type { AttachedFiles } from "./useAttached.ts"

interface PromptBoxProps {
  readonly id: string
  /** The name of its draft (`Draft`). */
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
      defaultValue={Draft.of(draft)}
      onInput={({ currentTarget }) => Draft.keep(draft, currentTarget.value)}
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
