/** Reads the endpoints again and again, and the configuration once. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import * as Service from "../service/Service.ts"

const EVERY_MS = 5_000

/** The report of the endpoints. */
export const useHealth = () =>
  useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => Service.client.health({ signal }),
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData
  })

/** The configuration in force. It changes with a restart of the service alone, so it is read again when the page is opened. */
export const useConfiguration = () =>
  useQuery({
    queryKey: ["configuration"],
    queryFn: ({ signal }) => Service.client.configuration({ signal }),
    refetchInterval: ({ state }) => (state.status === "error" ? EVERY_MS : false),
    placeholderData: keepPreviousData
  })
