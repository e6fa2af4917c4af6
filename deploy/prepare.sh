#!/bin/sh
# Write what compose.yaml needs and what belongs to one survey only: names, secrets, the proxy's configuration.
#
#     deploy/prepare.sh survey.example.org commute.json [FOLDER]
#
# FOLDER is deploy/site if it is not given. What is there already is kept: run it again after a change of the name.
# Put a real certificate in place of certificate.pem and certificate.key; the one that is made here is for trials.
set -eu

name=$1
survey=$2
here=$(cd "$(dirname "$0")" && pwd)
site=${3:-$here/site}

case $name in
*[!a-z0-9.-]* | "" | .* | -*)
    echo "prepare.sh: the name must be one such as survey.example.org" >&2
    exit 2
    ;;
esac
if [ ! -r "$survey" ]; then
    echo "prepare.sh: $survey cannot be read; it should be a survey, signed by pldp survey sign" >&2
    exit 2
fi

# Only the owner can open the folder. The files in it can be read by all, because containers run as users of their own.
mkdir -p "$site"
chmod 700 "$site"
umask 022

cp "$survey" "$site/survey.json"
sed -e "s/survey\.example\.org/$name/g" -e 's/server 127\.0\.0\.1:8300;/server collector:8300;/' \
    "$here/nginx.conf" > "$site/nginx.conf"
printf 'PLDP_NAME=%s\n' "$name" > "$site/environment"

if [ ! -e "$site/database_password" ]; then
    password=$(openssl rand -hex 24)
    printf '%s' "$password" > "$site/database_password"
    printf 'postgresql://pldp:%s@database/pldp' "$password" > "$site/database_address"
fi
if [ ! -e "$site/certificate.pem" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "/CN=$name" \
        -addext "subjectAltName=DNS:$name" -keyout "$site/certificate.key" -out "$site/certificate.pem" 2>/dev/null
    chmod 644 "$site/certificate.key"
    echo "made a certificate for trials: browsers will warn of it"
fi
echo "ready: docker compose --env-file $site/environment up --build --detach --wait"
