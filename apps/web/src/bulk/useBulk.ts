/**
 * Sends one command to many turns, part by part.
 *
 * useBulk.U1. The turns are named by their ids: what was counted and confirmed is commanded, and no turn that came meanwhile.
 */
import type { BulkCommands } from "@holdfast/wire/api"
import { useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"
import { type BulkChoice, resultOf } from "./BulkChoice.ts"

/** Turns of one call: few enough that the progress moves. */
const PART = 50

/** A command in progress. */
export interface BulkProgress {
  readonly done: number
  readonly of: number
}

/** Sends commands; `result` is the last one's, in words. */
export const useBulk = () => {
  const queries = useQueryClient()
  const stopping = useRef<AbortController>(undefined)
  const [progress, setProgress] = useState<BulkProgress | undefined>(undefined)
  const [result, setResult] = useState("")
  const send = async ({ turns, verb }: BulkChoice, model: string): Promise<void> => {
    const controller = new AbortController()
    const { signal } = controller
    stopping.current = controller
    const command: BulkCommands.BulkCommand = verb === "switch-target" ? { type: verb, model } : { type: verb }
    const outcomes: Array<BulkCommands.BulkOutcome> = []
    let failure = ""
    setResult("")
    setProgress({ done: 0, of: turns.length })
    try {
      for (let at = 0; at < turns.length && !signal.aborted; at += PART) {
        const turnIds = turns.slice(at, at + PART).map(({ turnId }) => turnId) // useBulk.U1
        for await (const outcome of Service.client.commandTurns({ command, filter: { turnIds } }))
          outcomes.push(outcome)
        setProgress({ done: Math.min(turns.length, at + PART), of: turns.length })
      }
    } catch (error) {
      failure = ` Then: ${Problems.wordsOf(error)}`
    }
    setProgress(undefined)
    setResult(resultOf(verb, outcomes, turns.length) + failure)
    for (const key of ["night", "report", "conversations", "explain"]) void Service.readAgain(queries, key)
  }
  return {
    send,
    /** Leaves the turns alone that were not commanded yet. */
    stop: () => stopping.current?.abort(),
    progress,
    result
  }
}
