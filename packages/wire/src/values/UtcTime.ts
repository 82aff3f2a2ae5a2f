/** Writes moments into sentences, in UTC, and finds them there again, for readers in another time zone. Pure. */

/** A moment in a sentence: `2031-04-01 02:14:05 UTC`. */
export const format = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 19).replace("T", " ")} UTC`

/** A sentence with its moments as `write` has them. What stands in quotation marks is foreign, and stays. */
export const local = (sentence: string, write: (epochMs: number) => string): string =>
  sentence.replaceAll(/"[^"]*"|(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC/g, (text, day?: string, time?: string) =>
    day === undefined || time === undefined ? text : write(Date.parse(`${day}T${time}Z`))
  )
