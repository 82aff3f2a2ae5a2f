/** Asks before a command goes to many turns: it names the command, their number, their endpoint, and the effect. */
import { useId, useLayoutEffect, useRef, useState } from "react"
import { ModelList } from "../conversation/ModelForm.tsx"
import * as BulkChoice from "./BulkChoice.ts"
import type { BulkProgress } from "./useBulk.ts"

interface BulkDialogProps {
  readonly asked: BulkChoice.BulkChoice
  /** Set while the command goes out. */
  readonly progress: BulkProgress | undefined
  readonly onSend: (choice: BulkChoice.BulkChoice, model: string) => void
  readonly onStop: () => void
  readonly onClose: () => void
}

/** The confirmation, over the page. Esc closes it. */
export const BulkDialog = ({ asked, onClose, onSend, onStop, progress }: BulkDialogProps) => {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  const [endpoint, setEndpoint] = useState("")
  const endpoints = BulkChoice.endpointsOf(asked.turns)
  const turns = endpoint === "" ? asked.turns : asked.turns.filter(({ model }) => model === endpoint)
  const choice = { ...asked, turns }
  // Closed while it is in the document, a dialog gives the focus back.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      className="bulk-dialog"
      aria-labelledby={`${id}-question`}
      aria-describedby={`${id}-consequence`}
      onCancel={(event) => {
        event.preventDefault()
        if (progress === undefined) onClose()
        else onStop()
      }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (progress !== undefined) return
          const model = new FormData(event.currentTarget).get("model")
          onSend(choice, typeof model === "string" ? model.trim() : "")
        }}
      >
        <h2 id={`${id}-question`}>{BulkChoice.questionOf(choice)}</h2>
        <p id={`${id}-consequence`}>{BulkChoice.WORDS[asked.verb].consequence}</p>
        {endpoints.length > 1 && (
          <div className="field">
            <label htmlFor={`${id}-endpoint`}>Only those of</label>
            <select id={`${id}-endpoint`} value={endpoint} onChange={({ target }) => setEndpoint(target.value)}>
              <option value="">all endpoints ({asked.turns.length})</option>
              {endpoints.map(([model, count]) => (
                <option key={model} value={model}>
                  {model} ({count})
                </option>
              ))}
            </select>
          </div>
        )}
        {asked.verb === "switch-target" && (
          <div className="field">
            <label htmlFor={`${id}-model`}>Go on with</label>
            <input
              id={`${id}-model`}
              name="model"
              required
              pattern="\s*[^\s\/]+\/\S+\s*"
              title="provider/model"
              placeholder="provider/model"
              list={`${id}-models`}
              autoComplete="off"
            />
            <ModelList id={`${id}-models`} />
          </div>
        )}
        {progress !== undefined && (
          <p role="status">
            <progress value={progress.done} max={progress.of} aria-label="Turns commanded" /> {progress.done} of{" "}
            {progress.of}
          </p>
        )}
        <div className="buttons">
          <button type="submit" className="primary" aria-disabled={progress !== undefined}>
            {BulkChoice.WORDS[asked.verb].name} {turns.length}
          </button>
          <button type="button" onClick={progress === undefined ? onClose : onStop}>
            {progress === undefined ? "Cancel" : "Stop here"}
          </button>
        </div>
      </form>
    </dialog>
  )
}
