/** Asks the service for the waits of policies, and for dry runs. */
import type { DryRunGroup } from "@holdfast/wire/api"
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query"
import { useRef, useState } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import type * as TrialForm from "./TrialForm.ts"

const AGAIN_MS = 5_000

/** The waits of the configuration with settings over it. */
export const useSchedule = (candidate: TrialForm.Candidate) =>
  useQuery({
    queryKey: ["schedule", candidate],
    queryFn: ({ signal }) => Service.client.schedule(candidate, { signal }),
    // A setting that the service refuses would be refused again.
    refetchInterval: ({ state: { error } }) =>
      error !== null && Problems.mistakesOf(error) === undefined ? AGAIN_MS : false,
    placeholderData: keepPreviousData
  })

/** A dry run: one at a time, and it can be stopped. */
export const useDryRun = () => {
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
export const faultsOf = (error: unknown): ReadonlyArray<TrialForm.Fault> => {
  if (error === null || error === undefined) return []
  return Problems.mistakesOf(error) ?? [{ path: "", message: Problems.wordsOf(error) }]
}
