/** Before the night: the waits of the configuration, and dry runs of changed settings beside it (X10). */
import { useId, useRef, useState } from "react"
import type { DryRunGroup } from "@holdfast/wire/api"
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { CopyButton } from "../conversation/CopyButton.tsx"
import * as Problems from "../service/Problems.ts"
import { ReadFailure } from "../shell/ReadFailure.tsx"
import * as Moments from "../text/Moments.ts"
import { useNow, useSettled } from "../time/Now.ts"
import { DryRunResult } from "./DryRunResult.tsx"
import { SchedulePicture } from "./SchedulePicture.tsx"
import * as TrialForm from "./TrialForm.ts"
import { OutageFields, SettingFields } from "./TrialFields.tsx"
import * as Service from "../service/Service.ts"
import "./before.css"

/** The page before the night. */
export const BeforePage = () => {
  const [fields, setFields] = useState(() => ({ ...TrialForm.initial, since: lastEvening(Date.now()) }))
  const candidate = TrialForm.candidateOf(useSettled(fields))
  const hasChanges = !TrialForm.isEmpty(candidate)
  const present = useSchedule({})
  const changed = useSchedule(candidate)
  const dryRun = useDryRun()
  // The service's errors of both calls have the same keys.
  const faults = TrialForm.faultsByField([...faultsOf(changed.error), ...faultsOf(dryRun.error)])
  const configured = new Map(present.data?.settings.map(({ name, value }) => [name, value]))
  if (present.data !== undefined) configured.set("model", present.data.model).set("profile", present.data.profile)
  const change = (fields: TrialForm.TrialValues): void => {
    setFields(fields)
    // Its faults may be mended now.
    if (dryRun.error !== null) dryRun.forget()
  }
  const shown = { fields, onChange: change, faults }
  return (
    <main id="detail" className="wide-page before" tabIndex={-1}>
      <title>Dry runs · Holdfast</title>
      <h1>Dry runs before the night</h1>
      <ReadFailure error={present.error} />
      <div className="before-body">
        <form
          className="trial"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            if (!dryRun.isRunning) dryRun.start(TrialForm.requestOf(fields))
          }}
        >
          <OutageFields {...shown} />
          <SettingFields {...shown} configured={configured} />
          <p className="error-text" role="alert">
            {faults.get("form")?.join(" ")}
          </p>
          <div className="buttons" tabIndex={-1}>
            <button type="submit" className="primary" aria-disabled={dryRun.isRunning}>
              Try it
            </button>
            {hasChanges && (
              <button
                type="button"
                onClick={() => {
                  const { hours, isReplay, outages, since, turns } = fields
                  change({ ...TrialForm.initial, hours, isReplay, outages, since, turns })
                }}
              >
                Undo the changes
              </button>
            )}
            {dryRun.isRunning && (
              <button type="button" onClick={dryRun.stop}>
                Stop
              </button>
            )}
          </div>
          {dryRun.isRunning && dryRun.request !== undefined && (
            <Running beganAt={dryRun.beganAt} words={TrialForm.wordsOf(dryRun.request)} />
          )}
        </form>
        <div className="tried">
          {dryRun.answer !== undefined && !dryRun.isRunning && <DryRunResult answer={dryRun.answer} />}
          {present.data === undefined ? (
            present.error === null && <p className="quiet">Reading …</p>
          ) : (
            <SchedulePicture
              present={present.data}
              changed={hasChanges && changed.error === null ? changed.data : undefined}
            />
          )}
          {hasChanges && changed.data !== undefined && changed.error === null && (
            <Configuration text={TrialForm.configurationOf(changed.data, candidate)} />
          )}
        </div>
      </div>
    </main>
  )
}

// --- internal

const EVENING_HOUR = 22

/** Ten o'clock of the last evening, as its field has it. */
const lastEvening = (now: number): string => {
  const evening = new Date(now)
  evening.setHours(EVENING_HOUR, 0, 0, 0)
  if (evening.getTime() > now) evening.setDate(evening.getDate() - 1)
  return Moments.forField(evening.getTime())
}

const Running = ({ beganAt, words }: { readonly beganAt: number; readonly words: string }) => {
  const now = useNow()
  return (
    <div className="running">
      <progress aria-label="The dry run" />
      <p>
        <span role="status">{words}.</span>{" "}
        <span className="quiet">{Moments.countdown(Math.max(0, now - beganAt))} so far</span>
      </p>
    </div>
  )
}

const Configuration = ({ text }: { readonly text: string }) => {
  const id = useId()
  return (
    <section aria-labelledby={id} className="written-settings">
      <div className="schedule-head">
        <h2 id={id}>As configuration</h2>
        <CopyButton textOf={() => text} />
      </div>
      <p className="quiet">
        These keys go into the configuration file, in the place of those that it has. The service reads it at its start.
      </p>
      <pre tabIndex={0}>{text}</pre>
    </section>
  )
}

const AGAIN_MS = 5_000

/** The waits of the configuration with settings over it. */
const useSchedule = (candidate: TrialForm.Candidate) =>
  useQuery({
    queryKey: ["schedule", candidate],
    queryFn: ({ signal }) => Service.client.schedule(candidate, { signal }),
    // A setting that the service refuses would be refused again.
    refetchInterval: ({ state: { error } }) =>
      error !== null && Problems.mistakesOf(error) === undefined ? AGAIN_MS : false,
    placeholderData: keepPreviousData
  })

/** A dry run: one at a time, and it can be stopped. */
const useDryRun = () => {
  const stopping = useRef<AbortController>(undefined)
  const [beganAt, setBeganAt] = useState(0)
  const run = useMutation({
    mutationFn: async (request: DryRunGroup.RunDryRun) => {
      stopping.current = new AbortController()
      setBeganAt(Date.now())
      const { signal } = stopping.current
      // A run that was stopped has no result, and is no failure.
      return Service.client.dryRun(request, { signal }).catch((error: unknown) => {
        if (signal.aborted) return undefined
        throw error
      })
    }
  })
  return {
    start: run.mutate,
    stop: () => stopping.current?.abort(),
    /** Forgets the last run. */
    forget: run.reset,
    isRunning: run.isPending,
    beganAt,
    /** What was asked for. */
    request: run.variables,
    answer: run.data,
    error: run.error
  }
}

/** The mistakes that an error of the service names; one sentence for any other error. */
const faultsOf = (error: unknown): ReadonlyArray<TrialForm.Fault> => {
  if (error === null || error === undefined) return []
  return Problems.mistakesOf(error) ?? [{ path: "", message: Problems.wordsOf(error) }]
}
