/** Reads and commands the turns of a service. */

/** A turn, in the list of the service. */
export interface Turn {
  readonly turnId: string
  readonly conversationId: string
  readonly status: string
  readonly attempts: number
  readonly model: string
  readonly wait?: { readonly retryAt: number }
}

/** The turns whose model is of this provider, of the service at `url`. */
export const of = async (url: string, provider: string): Promise<ReadonlyArray<Turn>> => {
  // Calls with a key of the client's own are listed as such.
  const response = await fetch(`${url}/v1/turns?model=${encodeURIComponent(`${provider}~client`)}`)
  const { turns } = (await response.json()) as { readonly turns: ReadonlyArray<Turn> }
  return turns
}

/** Waits until the only turn of a provider is as asked. */
export const until = async (url: string, provider: string, holds: (turn: Turn) => boolean): Promise<Turn> => {
  while (true) {
    const [turn] = await of(url, provider)
    if (turn !== undefined && holds(turn)) return turn
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Ends the wait of a turn. */
export const retryNow = async (url: string, { conversationId }: Turn): Promise<void> => {
  const response = await fetch(`${url}/v1/conversations/${conversationId}/retry-now`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}"
  })
  await response.arrayBuffer()
}
