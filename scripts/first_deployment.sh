#!/bin/sh
# The first deployment to an account, one command after the other; each can be read and run alone.
# Needs the AWS CLI with credentials, make, Python 3.11 or newer, and in the environment:
#   DATABASE_URL          PostgreSQL 15 or newer, as the owner of the tables
#   APP_DATABASE_URL      the same as the functions' role (docs/deploy.md); default DATABASE_URL
#   TURBOPUFFER_API_KEY   and TURBOPUFFER_REGION, default aws-us-east-1
#   EMBEDDING_API_KEY     of the provider of EMBEDDING_MODEL, default openai/text-embedding-3-small
#   PARAMETERS            more for the template (docs/deploy.md), such as "IndexConcurrency=4"
#   STACK                 name of the stack, and how its secrets begin; default context-search
# Costs: some cents for the quarter of an hour. The last lines say how all of it is removed.
set -eu
cd "$(dirname "$0")/.."
: "${DATABASE_URL:?}" "${TURBOPUFFER_API_KEY:?}" "${EMBEDDING_API_KEY:?}"
STACK=${STACK:-context-search}
case "$DATABASE_URL" in
*.proxy-*) ;; # RDS Proxy's certificate is one of the system's
*.rds.amazonaws.com*)
    [ -e shared/global-bundle.pem ] || {
        echo "RDS and Aurora need shared/global-bundle.pem before the build: docs/deploy.md" >&2
        exit 2
    }
    ;;
esac

echo "== 1. whose account, and where"
aws sts get-caller-identity
aws configure get region || echo "${AWS_REGION:-${AWS_DEFAULT_REGION:?no region: export AWS_REGION}}"

echo "== 2. layers and functions for arm64, proved here"
make build

echo "== 3. the database: what would change, then the change"
make migrate DRY_RUN=1
make migrate

echo "== 4. the secrets, made once; their files are gone at the end"
secrets=$(mktemp -d)
trap 'rm -rf "$secrets"' EXIT
.venv/bin/python - "$secrets" <<'PYTHON'
import json, os, pathlib, secrets, sys
given = os.environ
for name, values in {
    "all": {
        "database_url": given.get("APP_DATABASE_URL") or given["DATABASE_URL"],
        "turbopuffer_api_key": given["TURBOPUFFER_API_KEY"],
    },
    "models": {"embedding_api_key": given["EMBEDDING_API_KEY"]},
    "internal": {
        "internal_secret": secrets.token_urlsafe(32),
        "internal_secret_previous": "",
        "query_hash_key": secrets.token_urlsafe(32),
    },
}.items():
    pathlib.Path(sys.argv[1], name).write_text(json.dumps(values))
PYTHON
arn_of() { aws secretsmanager describe-secret --secret-id "$1" --query ARN --output text 2>/dev/null; }
secret() { # a name, and the file of its values; prints the ARN
    arn_of "$1" && echo "the secret $1 is there already and keeps its values, whatever the environment" \
        "says now; docs/operations.md#rotating-secrets changes them" >&2 && return
    aws secretsmanager create-secret --name "$1" --secret-string "file://$secrets/$2" \
        --query ARN --output text
}
models='' internal=''
# A deployment may have one for everything, see docs/operations.md. Of three it is made last.
if ! arn_of "$STACK" >/dev/null || arn_of "$STACK-internal" >/dev/null; then
    models=$(secret "$STACK-models" models)
    internal=$(secret "$STACK-internal" internal)
fi
arn=$(secret "$STACK" all)

echo "== 5. the stack; SAM shows what it will make and asks"
# shellcheck disable=SC2086  # several words
.venv-build/bin/sam deploy --stack-name "$STACK" --parameter-overrides \
    "SecretsArn=$arn" \
    ${models:+"ModelSecretsArn=$models"} ${internal:+"InternalSecretsArn=$internal"} \
    "TurbopufferRegion=${TURBOPUFFER_REGION:-aws-us-east-1}" \
    "EmbeddingModel=${EMBEDDING_MODEL:-openai/text-embedding-3-small}" ${PARAMETERS:-}

echo "== 6. a walk over HTTP and MCP, which deletes what it makes"
url=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='ApiUrl'].OutputValue")
SECRET=$(aws secretsmanager get-secret-value --secret-id "${internal:-$arn}" \
    --query SecretString --output text |
    .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["internal_secret"])')
export SECRET
make smoke URL="$url"

echo "== 7. what to look at: no alarm, no dead letter, cleanup every minute and without errors"
aws cloudwatch describe-alarms --alarm-name-prefix "$STACK-" --state-value ALARM \
    --query "MetricAlarms[].[AlarmName,StateReason]" --output text
dead=$(aws cloudformation describe-stacks --stack-name "$STACK" --output text \
    --query "Stacks[0].Outputs[?OutputKey=='DlqUrl'].OutputValue")
aws sqs get-queue-attributes --queue-url "$dead" --attribute-names ApproximateNumberOfMessages \
    --query "Attributes.ApproximateNumberOfMessages" --output text
since=$((($(date +%s) - 300) * 1000))
aws logs filter-log-events --log-group-name "/aws/lambda/$STACK/cleanup" --start-time $since \
    --query "events[-1].message" --output text
for name in create_tool search index_node cleanup; do
    aws logs filter-log-events --log-group-name "/aws/lambda/$STACK/$name" --start-time $since \
        --filter-pattern '{ $.level = "ERROR" }' --query "events[].message" --output text
done

cat <<END
== done: $url
To remove all of it (uploads of the last hours have to leave their bucket first: aws s3 rm):
    .venv-build/bin/sam delete --stack-name $STACK
    for name in $STACK $STACK-models $STACK-internal; do
        aws secretsmanager delete-secret --secret-id \$name
    done
    psql "\$DATABASE_URL" -c 'DROP SCHEMA context_search CASCADE'
and, if nothing else uses them, the tables project, context_table and tool of the schema public,
and in turbopuffer the namespaces that begin with project_.
END
