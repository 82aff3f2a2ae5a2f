/** The commands on a wait (X4): retry now, wait until, switch the model, extend the budget, give up. */
import type { ConversationView } from "@holdfast/client"
import { useId, useState } from "react"
import * as Actions from "../palette/Actions.ts"
import * as Durations from "../text/Durations.ts"
import { ModelForm } from "./ModelForm.tsx"
import { useModels } from "./useModels.ts"
import { CommandFailure } from "./CommandFailure.tsx"
import { useCommand } from "./useCommand.ts"

interface WaitButtonsProps {
  readonly conversationId: string
  readonly retry: ConversationView.PendingRetry
  readonly hasBudget: boolean
}

/** The buttons of a wait. Those with an ellipsis open a form. */
export const WaitButtons = ({ conversationId, hasBudget, retry: { asks } }: WaitButtonsProps) => {
  const [open, setOpen] = useState<"until" | "model" | "budget" | undefined>(undefined)
  const { failure, isPending, send } = useCommand(conversationId)
  const id = useId()
  const toggle = (form: "until" | "model" | "budget", words: string) => (
    <button
      type="button"
      aria-expanded={open === form}
      aria-controls={open === form ? `${id}-${form}` : undefined}
      onClick={() => setOpen(open === form ? undefined : form)}
    >
      {words}
    </button>
  )
  const close = (): void => setOpen(undefined)
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
          disabled={isPending}
          onClick={() => send((conversation) => conversation.retryNow())}
        >
          {goOn}
        </button>
        {toggle("until", "Wait until …")}
        {toggle("model", "Switch model …")}
        {asks === undefined && hasBudget && toggle("budget", "Extend budget …")}
        <button type="button" disabled={isPending} onClick={() => send((conversation) => conversation.abortRetry())}>
          Give up
        </button>
      </div>
      {open === "until" && (
        <div id={`${id}-until`}>
          <UntilForm
            onChosen={(until) => {
              close()
              send((conversation) => conversation.waitUntil(until))
            }}
          />
        </div>
      )}
      {open === "model" && (
        <div id={`${id}-model`}>
          <ModelForm
            label="Go on with"
            submit="Switch"
            onChosen={(model) => {
              close()
              send((conversation) => conversation.switchTarget(model))
            }}
          />
        </div>
      )}
      {open === "budget" && (
        <div id={`${id}-budget`}>
          <fieldset className="choices">
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

const HOUR_MS = 3_600_000
const HOURS = [1, 4, 8, 24]

const UntilForm = ({ onChosen }: { readonly onChosen: (until: Date) => void }) => {
  const id = useId()
  return (
    <form
      className="choices"
      onSubmit={(event) => {
        event.preventDefault()
        const until = new FormData(event.currentTarget).get("until")
        if (typeof until === "string" && until !== "") onChosen(new Date(until))
      }}
    >
      <label htmlFor={id}>Wait until</label>
      <input
        id={id}
        name="until"
        type="datetime-local"
        required
        defaultValue={Durations.forField(Date.now() + HOUR_MS)}
        autoFocus
      />
      <button type="submit">Wait</button>
    </form>
  )
}
