# Installs Vademecum for this account on Windows: powershell -File install.ps1 [-Version VERSION]
#
# Downloads the archive, compares it with SHA256SUMS, and checks the signature of that file if
# VADEMECUM_PUBLIC_KEY holds the key of the release page (then `minisign` must be in PATH).
param([string] $Version = '@VERSION@')
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12

$base = if ($env:VADEMECUM_BASE_URL) { $env:VADEMECUM_BASE_URL } else { '@REPOSITORY@/releases/download' }
$bin = if ($env:VADEMECUM_BIN) { $env:VADEMECUM_BIN } else { Join-Path $env:LOCALAPPDATA 'Programs\Vademecum' }
$name = "vademecum-$Version-x86_64-pc-windows-gnu"
$work = Join-Path ([IO.Path]::GetTempPath()) ([Guid]::NewGuid())
New-Item -ItemType Directory $work | Out-Null
try {
    $sums = Join-Path $work 'SHA256SUMS'
    Invoke-WebRequest -UseBasicParsing "$base/v$Version/SHA256SUMS" -OutFile $sums
    if ($env:VADEMECUM_PUBLIC_KEY) {
        Invoke-WebRequest -UseBasicParsing "$base/v$Version/SHA256SUMS.minisig" -OutFile "$sums.minisig"
        & minisign -V -q -P $env:VADEMECUM_PUBLIC_KEY -m $sums
        if ($LASTEXITCODE -ne 0) { throw 'the signature of SHA256SUMS is not that of VADEMECUM_PUBLIC_KEY; nothing was installed' }
    }
    $archive = Join-Path $work "$name.zip"
    Invoke-WebRequest -UseBasicParsing "$base/v$Version/$name.zip" -OutFile $archive
    $line = Get-Content $sums | Where-Object { $_ -like "*  $name.zip" }
    if (-not $line) { throw "SHA256SUMS has no $name.zip; nothing was installed" }
    if ((Get-FileHash $archive -Algorithm SHA256).Hash -ne $line.Split(' ')[0]) {
        throw "$name.zip is not the file of SHA256SUMS; nothing was installed"
    }
    Expand-Archive $archive -DestinationPath $work
    New-Item -ItemType Directory -Force $bin | Out-Null
    Copy-Item -Force (Join-Path $work "$name\vademecum.exe") (Join-Path $bin 'vademecum.exe')
    $path = [Environment]::GetEnvironmentVariable('Path', 'User')
    if (($path -split ';') -notcontains $bin) {
        [Environment]::SetEnvironmentVariable('Path', "$path;$bin", 'User')
    }
    Write-Output "installed $(& (Join-Path $bin 'vademecum.exe') --version) in $bin"
    Write-Output 'next, in a new window: vademecum demo'
} finally {
    Remove-Item -Recurse -Force $work
}
