/** Commands for the turns on the screen: a button each with its count, a confirmation, and the result in words. */
import { useEffect, useRef, useState } from "react"
import * as BulkChoice from "./BulkChoice.ts"
import { BulkDialog } from "./BulkDialog.tsx"
import { useBulk } from "./useBulk.ts"
import "./bulk.css"

/** The buttons that fit the turns; nothing where none does. `turns` are newest first. */
export const BulkBar = ({ turns }: { readonly turns: ReadonlyArray<BulkChoice.ChosenTurn> }) => {
  // The choice stays as it was counted, while the list changes.
  const [asked, setAsked] = useState<BulkChoice.BulkChoice | undefined>(undefined)
  const { progress, result, send, stop } = useBulk()
  const words = useRef<HTMLParagraphElement>(null)
  const hasNewResult = useRef(false)
  const choices = BulkChoice.choicesOf(turns)
  useEffect(() => {
    if (asked !== undefined || !hasNewResult.current) return
    hasNewResult.current = false
    // The button that was pressed may be gone.
    words.current?.focus()
  }, [asked])
  const carryOut = async (choice: BulkChoice.BulkChoice, model: string): Promise<void> => {
    await send(choice, model)
    hasNewResult.current = true
    setAsked(undefined)
  }
  return (
    <div className="bulk">
      {choices.length > 0 && (
        <div className="buttons" role="group" aria-label="Commands for the turns below">
          {choices.map((choice) => (
            <button key={choice.verb} type="button" className="small" onClick={() => setAsked(choice)}>
              {BulkChoice.buttonOf(choice)}
            </button>
          ))}
        </div>
      )}
      <p ref={words} className="bulk-result" role="status" tabIndex={-1}>
        {result}
      </p>
      {asked !== undefined && (
        <BulkDialog
          asked={asked}
          progress={progress}
          onSend={(choice, model) => void carryOut(choice, model)}
          onStop={stop}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  )
}
