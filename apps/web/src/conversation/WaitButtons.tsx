/** The commands on a wait (X4): retry now, wait until, switch the model, extend the budget, give up. */
import type { ConversationView } from "@holdfast/client"
import { useId, useRef, useState } from "react"
import * as Actions from "../palette/Actions.ts"
import * as Moments from "../text/Moments.ts"
import { LineForm } from "./LineForm.tsx"
import { ModelForm, useModels } from "./ModelForm.tsx"
import { CommandFailure, useCommand } from "./CommandFailure.tsx"

interface WaitButtonsProps {
  readonly conversationId: string
  readonly retry: ConversationView.ShownRetry
  readonly hasBudget: boolean
}

/** The buttons of a wait. Those with an ellipsis open a form. */
export const WaitButtons = ({ conversationId, hasBudget, retry: { asks } }: WaitButtonsProps) => {
  const [open, setOpen] = useState<Form | undefined>(undefined)
  const { failure, isPending, send } = useCommand(conversationId)
  const id = useId()
  const toggles = useRef<Partial<Record<Form, HTMLButtonElement | null>>>({})
  const toggle = (form: Form, words: string) => (
    <button
      ref={(button) => void (toggles.current[form] = button)}
      type="button"
      aria-expanded={open === form}
      aria-controls={open === form ? `${id}-${form}` : undefined}
      onClick={() => setOpen(open === form ? undefined : form)}
    >
      {words}
    </button>
  )
  const close = (): void => {
    setOpen(undefined)
    // The field or the button that has the focus goes away.
    if (open !== undefined) toggles.current[open]?.focus()
  }
  const goOn = asks === undefined ? "Retry now" : "Go on"
  const models = useModels()
  Actions.useActions("The wait", [
    { name: goOn, words: "attempt wait", run: () => send((conversation) => conversation.retryNow()) },
    { name: "Give up", words: "end the wait", run: () => send((conversation) => conversation.abortRetry()) },
    { name: "Wait until …", words: "move the end of the wait", run: () => setOpen("until") },
    { name: "Switch model …", words: "target provider", run: () => setOpen("model") },
    ...models.map((model) => ({
      name: `Switch to ${model}`,
      words: "model target provider",
      run: () => send((conversation) => conversation.switchTarget(model))
    })),
    ...(asks === undefined && hasBudget
      ? HOURS.map((hours) => ({
          name: `Extend budget by ${hours} h`,
          words: "waiting time",
          run: () => send((conversation) => conversation.extendBudget(hours * HOUR_MS))
        }))
      : [])
  ])
  return (
    <div className="commands">
      <div className="buttons">
        <button
          type="button"
          className="primary"
          aria-disabled={isPending}
          onClick={() => send((conversation) => conversation.retryNow())}
        >
          {goOn}
        </button>
        {toggle("until", "Wait until …")}
        {toggle("model", "Switch model …")}
        {asks === undefined && hasBudget && toggle("budget", "Extend budget …")}
        <button
          type="button"
          aria-disabled={isPending}
          onClick={() => send((conversation) => conversation.abortRetry())}
        >
          Give up
        </button>
      </div>
      {open === "until" && (
        <div id={`${id}-until`}>
          <LineForm
            label="Wait until"
            submit="Wait"
            field={{
              type: "datetime-local",
              required: true,
              defaultValue: Moments.forField(Date.now() + HOUR_MS)
            }}
            onGiven={(until) => {
              close()
              send((conversation) => conversation.waitUntil(new Date(until)))
            }}
            onLeft={close}
          />
        </div>
      )}
      {open === "model" && (
        <div id={`${id}-model`}>
          <ModelForm
            label="Go on with"
            submit="Switch"
            onLeft={close}
            onChosen={(model) => {
              close()
              send((conversation) => conversation.switchTarget(model))
            }}
          />
        </div>
      )}
      {open === "budget" && (
        <div id={`${id}-budget`}>
          <fieldset
            className="choices"
            onKeyDown={({ key }) => {
              if (key === "Escape") close()
            }}
          >
            <legend>Add to the waiting time of this step</legend>
            {HOURS.map((hours) => (
              <button
                key={hours}
                type="button"
                onClick={() => {
                  close()
                  send((conversation) => conversation.extendBudget(hours * HOUR_MS))
                }}
              >
                {hours} h
              </button>
            ))}
          </fieldset>
        </div>
      )}
      <CommandFailure failure={failure} />
    </div>
  )
}

// --- internal

type Form = "until" | "model" | "budget"

const HOUR_MS = 3_600_000
const HOURS = [1, 4, 8, 24]
