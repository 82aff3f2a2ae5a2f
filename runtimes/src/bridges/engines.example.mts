/** Activities, steps and tasks of workflow engines, with the retry decisions of Holdfast. */
// #region temporal
import { temporal } from "@holdfast/engines"
import { activityInfo, ApplicationFailure } from "@temporalio/activity"
import OpenAI from "openai"

const openai = new OpenAI({ maxRetries: 0 })
const failure = temporal(ApplicationFailure, { retry: "overnight" })

/** An activity. */
export const ask = async (prompt: string) => {
  try {
    return await openai.responses.create({ model: "gpt-5", input: prompt })
  } catch (error) {
    throw failure(error, activityInfo())
  }
}
// #endregion temporal
